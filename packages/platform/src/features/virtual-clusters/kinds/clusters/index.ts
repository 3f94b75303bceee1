// Clusters: where virtual clusters and spaces run.

import { clusterFields } from "@postern/api/cluster";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { stateColumns } from "../../../../foundation/kinds/state-columns.ts";
import { type AuthorityDeps, presentAuthority } from "./present-authority.ts";
import { type ClusterStrategyDeps, clusterStrategy } from "./strategy.ts";
import { type ClusterAccessKeyDeps, clusterAccessKey } from "./subresources/access-key.ts";

export type ClustersDeps = ClusterStrategyDeps &
  ClusterAccessKeyDeps &
  AuthorityDeps & {
    readonly visibility: ObjectVisibility;
  };

export const clusters = (deps: ClustersDeps): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "Cluster",
    plural: "clusters",
    singular: "cluster",
    namespaced: false,
    schema: kindSchema(clusterFields.schema),
    hasStatus: true,
    subresources: [clusterAccessKey(deps)],
    columns: [
      { name: "Display Name", type: "string", description: "Display name.", value: ".spec.displayName" },
      { name: "Phase", type: "string", description: "Phase of the cluster.", value: ".status.phase" },
      { name: "Version", type: "string", description: "Kubernetes version.", value: ".status.version" },
      ...stateColumns,
      ageColumn,
    ],
    strategy: clusterStrategy(deps),
    visibility: deps.visibility,
    present: presentAuthority(deps),
  });
