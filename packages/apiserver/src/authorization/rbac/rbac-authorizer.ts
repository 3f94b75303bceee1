// Authorizes by roles and bindings, and resolves the rules of a user.
// Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/rbac.go, pkg/registry/rbac/validation/rule.go

import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { UserInfo } from "../../authentication/user-info.ts";
import {
  type AuthorizationAttributes,
  type AuthorizationDecision,
  NO_OPINION,
  type ResolvedRules,
} from "../authorizer.ts";
import type { PolicyVersion } from "../policy-version.ts";
import { type PolicyRule, RBAC_GROUP } from "./policy-rule.ts";
import type { Grant, RbacSource } from "./rbac-source.ts";
import { describeBinding, type RoleRef } from "./role-binding.ts";
import { combinedResource } from "./rule-attributes.ts";
import type { RuleIndex, RulesByPlace } from "./rule-index.ts";

/** Decisions are synchronous: the source is in memory. */
export type RbacAuthorizer = {
  readonly policyVersion: PolicyVersion;
  authorize(attributes: AuthorizationAttributes): AuthorizationDecision;
  rulesFor(user: UserInfo, namespace: string): ResolvedRules;
  /** The roles of a user in a namespace, each once. */
  rolesOf(user: UserInfo, namespace: string): readonly RuleIndex[];
};

export function createRbacAuthorizer({ source }: { readonly source: RbacSource }): RbacAuthorizer {
  return {
    policyVersion: source,
    authorize(attributes) {
      const combined = combinedResource(attributes);
      let allowedBy: Grant | undefined;
      const missing: RoleRef[] = [];
      visitGrants(source, attributes.user, attributes.namespace, (grant) => {
        const rules = source.rulesOf(grant.binding.roleRef, grant.binding.namespace);
        if (rules === undefined) missing.push(grant.binding.roleRef);
        else if (rules.allows(attributes, combined)) allowedBy = grant;
        return allowedBy === undefined;
      });
      if (allowedBy !== undefined) {
        const reason = `RBAC: allowed by ${describeBinding(allowedBy.binding, allowedBy.subject)}`;
        return { verdict: "allow", reason };
      }
      return missing.length === 0 ? NO_OPINION : { verdict: "no-opinion", reason: `RBAC: ${describeMissing(missing)}` };
    },

    rolesOf(user, namespace) {
      const found = new Set<RuleIndex>();
      visitGrants(source, user, namespace, ({ binding }) => {
        const rules = source.rulesOf(binding.roleRef, binding.namespace);
        if (rules !== undefined) found.add(rules);
        return true;
      });
      return [...found];
    },

    rulesFor(user, namespace) {
      const found = new Set<RuleIndex>();
      const missing: RoleRef[] = [];
      visitGrants(source, user, namespace, (grant) => {
        const rules = source.rulesOf(grant.binding.roleRef, grant.binding.namespace);
        if (rules === undefined) missing.push(grant.binding.roleRef);
        else found.add(rules);
        return true;
      });
      return {
        ...joinRules([...found].map(({ resolved }) => resolved)),
        incomplete: missing.length > 0,
        ...(missing.length === 0 ? {} : { evaluationError: describeMissing(missing) }),
      };
    },
  };
}

/** One grant for every role that concerns the user: cluster-wide ones first, then those of the namespace. Stops when `visit` says false. */
function visitGrants(source: RbacSource, user: UserInfo, namespace: string, visit: (grant: Grant) => boolean): void {
  if (!visitNamespace(source, user, "", visit) || namespace === "") return;
  visitNamespace(source, user, namespace, visit);
}

function visitNamespace(
  source: RbacSource,
  user: UserInfo,
  namespace: string,
  visit: (grant: Grant) => boolean,
): boolean {
  for (const grant of source.grantsToUser(namespace, user.name)) if (!visit(grant)) return false;
  for (const group of user.groups) {
    for (const grant of source.grantsToGroup(namespace, group)) if (!visit(grant)) return false;
  }
  return true;
}

/** The rules of several roles. They are not copied: a user may have tens of thousands. */
export const joinRules = (parts: readonly RulesByPlace[]): RulesByPlace => ({
  resourceRules: parts.flatMap(({ resourceRules }) => resourceRules),
  nonResourceRules: parts.flatMap(({ nonResourceRules }) => nonResourceRules),
});

/** Resolved rules as policy rules again, for comparing them with others. */
export function policyRulesOf({ resourceRules, nonResourceRules }: ResolvedRules): readonly PolicyRule[] {
  return [
    ...resourceRules.map(({ verbs, apiGroups, resources, resourceNames = [] }) => ({
      verbs,
      apiGroups,
      resources,
      resourceNames,
      nonResourceURLs: [],
    })),
    ...nonResourceRules.map(({ verbs, nonResourceURLs }) => ({
      verbs,
      apiGroups: [],
      resources: [],
      resourceNames: [],
      nonResourceURLs,
    })),
  ];
}

const describeMissing = (refs: readonly RoleRef[]): string => {
  const texts = [
    ...new Set(refs.map(({ kind, name }) => `${kind.toLowerCase()}.${RBAC_GROUP} ${quoteGo(name)} not found`)),
  ];
  const text = texts.join(", ");
  return texts.length === 1 ? text : `[${text}]`;
};
