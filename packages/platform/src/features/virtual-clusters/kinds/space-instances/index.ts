// SpaceInstances: namespaces of connected clusters, for projects.

import { spaceInstanceFields } from "@postern/api/space-instance";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import {
  defineResource,
  type ResourceDefinition,
  type Subresource,
} from "@postern/apiserver/registry/resource-definition";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { stateColumns } from "../../../../foundation/kinds/state-columns.ts";
import { callerPermissionsView } from "../../../authorization/kinds/caller-permissions-view.ts";
import type { RotationStates } from "../../../certificate-authorities/rotation-states.ts";
import { type SpaceInstanceStrategyDeps, spaceInstanceStrategy } from "./strategy.ts";

export const spaceInstances = (
  deps: SpaceInstanceStrategyDeps & {
    readonly authorizer: Authorizer;
    /** The ServiceAccount key of one on the built-in cluster, and its rotation. Absent: there is none. */
    readonly certificateAuthority?: Subresource;
    /** Rotations of these. Absent: none. */
    readonly rotations?: Pick<RotationStates, "of">;
    readonly visibility: ObjectVisibility;
  },
): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "SpaceInstance",
    plural: "spaceinstances",
    shortNames: ["spi"],
    namespaced: true,
    schema: kindSchema(spaceInstanceFields.schema),
    hasStatus: true,
    ...(deps.certificateAuthority === undefined ? {} : { subresources: [deps.certificateAuthority] }),
    columns: [
      { name: "Cluster", type: "string", description: "Cluster of the space.", value: ".spec.clusterRef.cluster" },
      {
        name: "Namespace",
        type: "string",
        description: "Name of the namespace in the cluster.",
        value: ".spec.clusterRef.namespace",
      },
      { name: "Phase", type: "string", description: "Phase.", value: ".status.phase" },
      ...stateColumns,
      {
        name: "CA rotation",
        type: "string",
        description: "Phase of the last rotation of its CA and ServiceAccount key.",
        priority: 1,
        value: ({ metadata }) => deps.rotations?.of(metadata.uid ?? "")?.phase ?? null,
      },
      ageColumn,
    ],
    strategy: spaceInstanceStrategy(deps),
    visibility: deps.visibility,
    extend: callerPermissionsView(deps.authorizer),
  });
