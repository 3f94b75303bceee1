// Opens paths outside the resource tree to everybody, such as the health checks.
// Source: k8s.io/apiserver/pkg/authorization/path/path.go

import { GROUP_MASTERS, type UserInfo } from "../authentication/user-info.ts";
import { type AuthorizationDecision, type Authorizer, NO_OPINION, type RuleResolver } from "./authorizer.ts";

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

// Lets the administrators' group do everything, whatever roles say: the way back in when RBAC locks everybody out.
// Source: k8s.io/apiserver/pkg/authorization/authorizerfactory/builtin.go (NewPrivilegedGroups)

const ALLOW_MASTERS: AuthorizationDecision = { verdict: "allow", reason: "" };
const NO_RULES = { resourceRules: [], nonResourceRules: [], incomplete: false };
const ALL_RULES = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
};

export const isMaster = ({ groups }: Pick<UserInfo, "groups">): boolean => groups.includes(GROUP_MASTERS);

export const mastersAuthorizer: Authorizer & RuleResolver = {
  authorize: ({ user }) => (isMaster(user) ? ALLOW_MASTERS : NO_OPINION),
  rulesFor: (user) => (isMaster(user) ? ALL_RULES : NO_RULES),
};
