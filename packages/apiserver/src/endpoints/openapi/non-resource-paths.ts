// The documented paths outside the resource tree: discovery, the version, and those of the issuer of tokens.

import type { ApiGroup } from "../discovery/api-groups.ts";
import type { ApiPath } from "./api-paths.ts";
import { capitalize, groupWords } from "./openapi-names.ts";

/** By the path that is served. */
const ISSUER: { readonly [served: string]: readonly [tag: string, id: string, description: string, text: string] } = {
  "/.well-known/openid-configuration": [
    "WellKnown",
    "getServiceAccountIssuerOpenIDConfiguration",
    "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
    "application/json",
  ],
  "/openid/v1/jwks": [
    "openid",
    "getServiceAccountIssuerOpenIDKeyset",
    "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
    "application/jwk-set+json",
  ],
};

/** By the name of the v3 document that holds each. `otherPaths`: those that the server answers outside the API. */
export function nonResourcePaths(
  groups: readonly ApiGroup[],
  otherPaths: readonly string[],
): ReadonlyMap<string, ApiPath> {
  const named = groups.filter(({ name }) => name !== "");
  return new Map([
    ["api", documentPath("/api/", "core", "getCoreAPIVersions", "list the versions of the core group")],
    ["apis", documentPath("/apis/", "apis", "getAPIVersions", "list the groups")],
    ["version", documentPath("/version/", "version", "getCodeVersion", "read the version of the server")],
    ...otherPaths.flatMap((path) => {
      const [tag, id, description, text] = ISSUER[path] ?? [];
      if (tag === undefined || id === undefined || description === undefined || text === undefined) return [];
      return [[path.slice(1), documentPath(`${path}/`, tag, id, description, [text])] as const];
    }),
    ...named.map(({ name }) => {
      const id = `get${groupWords(name).map(capitalize).join("")}APIGroup`;
      return [`apis/${name}`, documentPath(`/apis/${name}/`, name, id, "describe the group")] as const;
    }),
  ]);
}

const documentPath = (
  path: string,
  tag: string,
  id: string,
  description: string,
  text?: readonly string[],
): ApiPath => ({
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
      ...(text === undefined ? {} : { text }),
      responses: new Map([
        [200, undefined],
        [401, undefined],
      ]),
    },
  ],
});
