// Allows paths outside the resource tree to all users, such as the health checks.
// Source: k8s.io/apiserver/pkg/authorization/path/path.go

import { type AuthorizationDecision, type Authorizer, NO_OPINION } from "./authorizer.ts";

const ALLOW: AuthorizationDecision = { verdict: "allow", reason: "" };

/** `paths` are exact, or prefixes that end in `*`. Throws if `*` occurs anywhere else. */
export function alwaysAllowPaths(paths: readonly string[]): Authorizer {
  const exact = new Set<string>();
  const prefixes: string[] = [];
  for (const path of paths.map((given) => given.replace(/^\//, ""))) {
    const isPrefix = path.endsWith("*");
    const plain = isPrefix ? path.slice(0, -1) : path;
    if (plain.includes("*")) throw new Error(`only trailing * allowed in ${JSON.stringify(path)}`);
    if (isPrefix) prefixes.push(plain);
    else exact.add(plain);
  }
  return {
    authorize({ isResourceRequest, path }) {
      if (isResourceRequest) return NO_OPINION;
      const asked = path.replace(/^\//, "");
      return exact.has(asked) || prefixes.some((prefix) => asked.startsWith(prefix)) ? ALLOW : NO_OPINION;
    },
  };
}
