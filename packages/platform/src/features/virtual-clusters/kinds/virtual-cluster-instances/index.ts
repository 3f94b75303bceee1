// VirtualClusterInstances: the virtual clusters of a project, and kubeconfigs for them.

import { virtualClusterInstanceFields } from "@postern/api/virtual-cluster-instance";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  defineResource,
  type ResourceDefinition,
  type Subresource,
} from "@postern/apiserver/registry/resource-definition";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { stateColumns } from "../../../../foundation/kinds/state-columns.ts";
import { callerPermissionsView } from "../../../authorization/kinds/caller-permissions-view.ts";
import type { ClusterUsage } from "../../../budgets/cluster-memory.ts";
import { shownUsage } from "../../../budgets/management-budgets.ts";
import type { RotationStates } from "../../../certificate-authorities/rotation-states.ts";
import { type VirtualClusterInstanceStrategyDeps, virtualClusterInstanceStrategy } from "./strategy.ts";
import { type VirtualClusterAccessKeyDeps, virtualClusterAccessKey } from "./subresources/access-key.ts";
import { type KubeconfigDeps, kubeConfig } from "./subresources/kubeconfig.ts";

export const virtualClusterInstances = (
  deps: VirtualClusterInstanceStrategyDeps &
    KubeconfigDeps &
    VirtualClusterAccessKeyDeps & {
      /** The subresource by which its agent joins. */
      readonly join?: Subresource;
      /** The list of its credentials. */
      readonly credentials?: Subresource;
      /** The CA of an embedded one, and its rotation. */
      readonly certificateAuthority?: Subresource;
      /** Rotations of these CAs. Absent: none. */
      readonly rotations?: Pick<RotationStates, "of">;
      readonly visibility: ObjectVisibility;
      readonly clusterUsage: Pick<ClusterUsage, "of">;
    },
): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "VirtualClusterInstance",
    plural: "virtualclusterinstances",
    shortNames: ["vci"],
    namespaced: true,
    schema: kindSchema(virtualClusterInstanceFields.schema),
    hasStatus: true,
    subresources: [
      kubeConfig(deps),
      virtualClusterAccessKey(deps),
      ...[deps.certificateAuthority, deps.join, deps.credentials].filter((subresource) => subresource !== undefined),
    ],
    columns: [
      {
        name: "Cluster",
        type: "string",
        description: "Cluster of the virtual cluster.",
        value: ".spec.clusterRef.cluster",
      },
      { name: "Phase", type: "string", description: "Phase.", value: ".status.phase" },
      { name: "Version", type: "string", description: "Kubernetes version.", value: ".status.kubernetesVersion" },
      ...stateColumns,
      {
        name: "Stored",
        type: "string",
        description: "What the virtual cluster stores in this server, and its limit.",
        value: ({ metadata }) => shownUsage(deps.clusterUsage.of(metadata.uid ?? "")),
      },
      {
        name: "CA rotation",
        type: "string",
        description: "Phase of the last rotation of the CA of the virtual cluster.",
        priority: 1,
        value: ({ metadata }) => deps.rotations?.of(metadata.uid ?? "")?.phase ?? null,
      },
      ageColumn,
    ],
    strategy: virtualClusterInstanceStrategy(deps),
    visibility: deps.visibility,
    extend: callerPermissionsView(deps.authorizer),
  });
