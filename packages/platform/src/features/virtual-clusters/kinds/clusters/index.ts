// Clusters: where virtual clusters and spaces run.

import { type Cluster, clusterFields } from "@postern/api/cluster";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  defineResource,
  type ResourceDefinition,
  type Subresource,
} from "@postern/apiserver/registry/resource-definition";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { stateColumns } from "../../../../foundation/kinds/state-columns.ts";
import { presentAuthority } from "./present-authority.ts";
import { type ClusterStrategyDeps, clusterStrategy } from "./strategy.ts";
import { type ClusterAccessKeyDeps, clusterAccessKey } from "./subresources/access-key.ts";

export type ClustersDeps = ClusterStrategyDeps &
  ClusterAccessKeyDeps & {
    /** The subresource by which its agent joins. */
    readonly join: Subresource;
    readonly visibility: ObjectVisibility;
  };

export const clusters = (deps: ClustersDeps): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "Cluster",
    plural: "clusters",
    namespaced: false,
    schema: kindSchema(clusterFields.schema),
    hasStatus: true,
    subresources: [clusterAccessKey(deps), deps.join],
    columns: [
      { name: "Display Name", type: "string", description: "Display name.", value: ".spec.displayName" },
      { name: "Phase", type: "string", description: "Phase of the cluster.", value: ".status.phase" },
      { name: "Version", type: "string", description: "Kubernetes version.", value: ".status.version" },
      { name: "Connected", type: "string", description: "Whether its agent is connected.", value: connectedText },
      {
        name: "Agent",
        type: "string",
        priority: 1,
        description: "Version of its agent.",
        value: ".status.agent.version",
      },
      { name: "RTT", type: "string", priority: 1, description: "Round trip to its agent.", value: roundTripText },
      ...stateColumns,
      ageColumn,
    ],
    strategy: clusterStrategy(deps),
    visibility: deps.visibility,
    present: presentAuthority(deps.names, deps.endpoint),
  });

/** Empty for a cluster that no agent connects. */
function connectedText(object: KubeObject): string {
  // Stored objects have gone through the schema of their kind.
  const { status } = object as Cluster;
  return status?.conditions?.find(({ type }) => type === "Connected")?.status ?? "";
}

function roundTripText(object: KubeObject): string {
  const milliseconds = (object as Cluster).status?.agent?.roundTripMilliseconds;
  return milliseconds === undefined ? "" : `${milliseconds}ms`;
}
