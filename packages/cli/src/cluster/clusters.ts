// The Clusters of a platform, for the commands below `postern cluster`.

import type { Cluster } from "@postern/api/cluster";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceClient } from "@postern/client/resource-client";

export const clustersAddress = (group: string) => ({ group, version: "v1", resource: "clusters" });

/** The server's schema describes the objects. */
export const clustersOf = (client: ApiClient, group: string): ResourceClient<Cluster> =>
  createResourceClient<Cluster>(client, clustersAddress(group));

export const mergePatch = (patch: JsonObject) => ({ type: "merge", patch }) as const;
