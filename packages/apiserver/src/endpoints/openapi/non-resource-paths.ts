// The documented paths outside the resource tree: discovery and the version.

import type { ApiGroup } from "../discovery/api-groups.ts";
import type { ApiPath } from "./api-paths.ts";
import { capitalize } from "./openapi-names.ts";

/** By the name of the v3 document that holds each. */
export function nonResourcePaths(groups: readonly ApiGroup[]): ReadonlyMap<string, ApiPath> {
  const named = groups.filter(({ name }) => name !== "");
  return new Map([
    ["api", documentPath("/api/", "core", "getCoreAPIVersions", "list the versions of the core group")],
    ["apis", documentPath("/apis/", "apis", "getAPIVersions", "list the groups")],
    ["version", documentPath("/version/", "version", "getCodeVersion", "read the version of the server")],
    ...named.map(({ name }) => {
      const words = name.split(/[.-]/);
      const id = `get${words.map(capitalize).join("")}APIGroup`;
      return [`apis/${name}`, documentPath(`/apis/${name}/`, name, id, "describe the group")] as const;
    }),
  ]);
}

const documentPath = (path: string, tag: string, id: string, description: string): ApiPath => ({
  path,
  namespaced: false,
  parameters: [],
  operations: [
    {
      method: "get",
      id,
      description,
      tag,
      parameters: [],
      responses: new Map([
        [200, undefined],
        [401, undefined],
      ]),
    },
  ],
});
