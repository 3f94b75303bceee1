// SpaceInstances: namespaces of connected clusters, for projects.

import { spaceInstanceFields } from "@postern/api/space-instance";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { stateColumns } from "../../../../foundation/kinds/state-columns.ts";
import { callerPermissionsView } from "../../../authorization/kinds/caller-permissions-view.ts";
import { type SpaceInstanceStrategyDeps, spaceInstanceStrategy } from "./strategy.ts";

export const spaceInstances = (
  deps: SpaceInstanceStrategyDeps & {
    readonly authorizer: Authorizer;
    readonly visibility: ObjectVisibility;
  },
): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "SpaceInstance",
    plural: "spaceinstances",
    singular: "spaceinstance",
    shortNames: ["spi"],
    namespaced: true,
    schema: kindSchema(spaceInstanceFields.schema),
    hasStatus: true,
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
      ageColumn,
    ],
    strategy: spaceInstanceStrategy(deps),
    visibility: deps.visibility,
    extend: callerPermissionsView(deps.authorizer),
  });
