// The Clusters of a platform, and the virtual clusters that others run, for the commands below `postern cluster`.

import type { Cluster } from "@postern/api/cluster";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceClient } from "@postern/client/resource-client";
import type { Command } from "commander";
import { withNamespacePrefixOption } from "../serve/namespace-prefix-option.ts";

export const clustersAddress = (group: string) => ({ group, version: "v1", resource: "clusters" });

/** The server's schema describes the objects. */
export const clustersOf = (client: ApiClient, group: string): ResourceClient<Cluster> =>
  createResourceClient<Cluster>(client, clustersAddress(group));

export type PlaceFlags = { readonly project?: string; readonly namespacePrefix: string };

/** Options of commands that name a cluster or virtual cluster with an agent. */
export const withPlaceOptions = (command: Command): Command =>
  withNamespacePrefixOption(
    command.option(
      "--project <project>",
      "project of an external virtual cluster, which is meant instead of a Cluster",
    ),
  );

/** The Clusters, or the virtual clusters of the project. */
export const connectedOf = (
  client: ApiClient,
  group: string,
  { project, namespacePrefix }: PlaceFlags,
): ResourceClient<Cluster | VirtualClusterInstance> =>
  createResourceClient<Cluster | VirtualClusterInstance>(
    client,
    project === undefined
      ? clustersAddress(group)
      : { group, version: "v1", resource: "virtualclusterinstances", namespace: `${namespacePrefix}${project}` },
  );

/** In messages. */
export const named = (name: string, { project }: PlaceFlags): string =>
  project === undefined ? `cluster ${name}` : `virtual cluster ${name} of project ${project}`;

export const mergePatch = (patch: JsonObject) => ({ type: "merge", patch }) as const;
