// Allows everything to system:masters, whatever the roles say: the way back in when RBAC locks all others out.
// Source: k8s.io/apiserver/pkg/authorization/authorizerfactory/builtin.go (NewPrivilegedGroups)

import { GROUP_MASTERS, type UserInfo } from "../authentication/user-info.ts";
import { type AuthorizationDecision, type Authorizer, NO_OPINION, type RuleResolver } from "./authorizer.ts";

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
