// The discovery and schemas of the groups whose kinds the platform describes itself.

import type { PublishedGroup } from "./kind-reference.ts";

const GROUP_VERSIONS = ["management.postern/v1", "storage.postern/v1", "multicluster.x-k8s.io/v1alpha1"];

/** `send` reads a path of the server as its administrator, and returns the JSON of the response. */
export async function publishedGroups(
  // biome-ignore lint/suspicious/noExplicitAny: the answers are documents of a server that this repository builds
  send: (path: string) => Promise<any>,
): Promise<readonly PublishedGroup[]> {
  return Promise.all(
    GROUP_VERSIONS.map(async (groupVersion) => ({
      groupVersion,
      resources: (await send(`/apis/${groupVersion}`)).resources,
      schemas: (await send(`/openapi/v3/apis/${groupVersion}`)).components.schemas,
    })),
  );
}
