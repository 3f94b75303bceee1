// The escalation check on writes of roles and bindings: you can only grant permissions that you have.
// Source: k8s.io/kubernetes/pkg/registry/rbac/{escalation_check.go,*/policybased/storage.go}, pkg/registry/rbac/validation/rule.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { forbiddenRequestError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type {
  AuthorizationAttributes,
  Authorizer,
  NonResourceRule,
  ResolvedRules,
  ResourceRule,
  RuleResolver,
} from "@postern/apiserver/authorization/authorizer";
import { isMaster } from "@postern/apiserver/authorization/masters-authorizer";
import {
  FULL_AUTHORITY,
  type PolicyRule,
  RBAC_GROUP,
  readPolicyRules,
} from "@postern/apiserver/authorization/rbac/policy-rule";
import { policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import { type RoleRef, readRoleRef } from "@postern/apiserver/authorization/rbac/role-binding";
import {
  compactRules,
  countPieces,
  describeRule,
  HeldRules,
  quoteGoList,
  uncoveredRulesInSteps,
} from "@postern/apiserver/authorization/rbac/rule-coverage";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { rulesDeniedOutside } from "./rules-denied-outside.ts";

export type EscalationCheckDeps = {
  readonly authorizer: Authorizer;
  readonly ruleResolver: RuleResolver;
  /** Where the rules of a role that is to be bound are found. */
  readonly source: Pick<RbacSource, "rulesOf">;
};

export type EscalationCheck = {
  /**
   * Throws 403 unless the caller holds what the role opens, or may `escalate` it, and its credential opens that, too. `old` on an
   * update.
   */
  role(role: KubeObject, old: KubeObject | undefined, context: RequestContext): Promise<void>;
  /**
   * Throws 403 unless the caller holds what the bound role opens, or may `bind` it, and its credential opens that, too; 404 when there
   * is no such role.
   */
  binding(binding: KubeObject, old: KubeObject | undefined, context: RequestContext): Promise<void>;
  /**
   * Why the caller may not bind a ClusterRole in a namespace, or everywhere (""); undefined when it may. For objects that give roles without a binding,
   * whose refusals name them.
   */
  whyNotBind(clusterRole: string, namespace: string, context: RequestContext): Promise<string | undefined>;
};

export function createEscalationCheck(deps: EscalationCheckDeps): EscalationCheck {
  const lastHeld = new LastHeldRules();
  /** `missing` as of `missingPermissions`. Undefined `rules`: there is no such role, and the caller may not bind one that is yet to come. */
  const bound = async (roleRef: RoleRef, namespace: string, context: RequestContext) => {
    const resource = roleRef.kind === "Role" ? "roles" : "clusterroles";
    const target = { apiGroup: roleRef.apiGroup, resource, namespace, name: roleRef.name };
    const mayBind = await isAllowed(deps, context, "bind", target);
    // A role that is yet to come may open anything.
    const rules = deps.source.rulesOf(roleRef, namespace)?.rules ?? (mayBind ? FULL_AUTHORITY : undefined);
    const missing = rules && (await missingPermissions(deps, context, namespace, rules, mayBind, lastHeld));
    return { rules, missing };
  };
  return {
    async role(role, old, context) {
      if (isExempt(role, old, context)) return;
      const { namespace = "", name = "" } = role.metadata;
      const resource = role.kind === "Role" ? "roles" : "clusterroles";
      const target = { apiGroup: RBAC_GROUP, resource, namespace, name };
      const mayEscalate = await isAllowed(deps, context, "escalate", target);
      const refuse = (why: string): never => {
        throw forbiddenRequestError({ group: RBAC_GROUP, resource }, name, why);
      };
      const missing = await missingPermissions(
        deps,
        context,
        namespace,
        readPolicyRules(role["rules"]),
        mayEscalate,
        lastHeld,
      );
      if (missing !== undefined) refuse(missing);
      if (role["aggregationRule"] === undefined && old?.["aggregationRule"] === undefined) return;
      // It can gather anything, now and later.
      if ((await missingPermissions(deps, context, "", FULL_AUTHORITY, mayEscalate, lastHeld)) !== undefined) {
        refuse("must have cluster-admin privileges to use the aggregationRule");
      }
    },

    async binding(binding, old, context) {
      if (isExempt(binding, old, context)) return;
      const { namespace = "", name = "" } = binding.metadata;
      const roleRef = readRoleRef(binding["roleRef"]);
      // Anything else is refused by validation, which comes next.
      if (roleRef.kind !== "ClusterRole" && (roleRef.kind !== "Role" || namespace === "")) return;
      const { rules, missing } = await bound(roleRef, namespace, context);
      if (rules === undefined)
        throw notFoundError({ group: RBAC_GROUP, resource: roleRef.kind.toLowerCase() }, roleRef.name);
      if (missing === undefined) return;
      const resource = binding.kind === "RoleBinding" ? "rolebindings" : "clusterrolebindings";
      throw forbiddenRequestError({ group: RBAC_GROUP, resource }, name, missing);
    },

    async whyNotBind(clusterRole, namespace, context) {
      if (isMaster(context.user)) return undefined;
      const roleRef = { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: clusterRole };
      const { rules, missing } = await bound(roleRef, namespace, context);
      return rules === undefined ? `there is no ClusterRole ${JSON.stringify(clusterRole)}` : missing;
    },
  };
}

const isExempt = (object: KubeObject, old: KubeObject | undefined, { user }: RequestContext): boolean =>
  isMaster(user) || (old !== undefined && changesOnlyForGarbageCollection(object, old));

async function isAllowed(
  { authorizer }: EscalationCheckDeps,
  { user, credential }: RequestContext,
  verb: "escalate" | "bind",
  target: Pick<AuthorizationAttributes, "apiGroup" | "resource" | "namespace" | "name">,
): Promise<boolean> {
  const decision = await authorizer.authorize({
    user,
    credential,
    verb,
    isResourceRequest: true,
    apiVersion: "*",
    subresource: "",
    path: "",
    ...target,
  });
  return decision.verdict === "allow";
}

/**
 * Permissions that the caller would grant without holding them, as a refusal prints them; undefined when there are none. A caller that may
 * grant permissions it does not hold (`mayGiveAll`) is still limited to those that the outer surface allows to its credential: it cannot widen these.
 */
async function missingPermissions(
  { ruleResolver }: EscalationCheckDeps,
  context: RequestContext,
  namespace: string,
  wanted: readonly PolicyRule[],
  mayGiveAll: boolean,
  lastHeld: LastHeldRules,
): Promise<string | undefined> {
  const { user, credential, outerAuthorizer } = context;
  const resolved = mayGiveAll ? undefined : await ruleResolver.rulesFor(user, namespace, credential, context);
  const held = resolved === undefined ? [] : rulesIn(resolved);
  // A small binding may be to a role of thousands of rules.
  context.weigh((countPieces(wanted) + held.length) * BYTES_OF_PIECE);
  const uncovered = resolved === undefined ? [] : await context.inParts(uncoveredBy(resolved, wanted, lastHeld));
  const pause = () => context.pause();
  const caller = { user, credential, outerAuthorizer, pause };
  const missing = uncovered.length > 0 ? uncovered : await rulesDeniedOutside(caller, namespace, wanted);
  if (missing.length === 0) return undefined;
  const descriptions = [...new Set(compactRules(missing).map(describeRule))].sort();
  const who = `user ${quoteGo(user.name)} (groups=${quoteGoList(user.groups)})`;
  const errors = resolved?.evaluationError === undefined ? "" : `; resolution errors: [${resolved.evaluationError}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${descriptions.join("\n")}${errors}`;
}

/** The rules that a caller held last, indexed: one that creates thousands of bindings holds the same each time. */
class LastHeldRules {
  #rules: readonly (ResourceRule | NonResourceRule)[] = [];
  #holders: HeldRules | undefined;

  /** Undefined unless these are the same rules. */
  of(resolved: ResolvedRules): HeldRules | undefined {
    const rules = rulesIn(resolved);
    const isSame = rules.length === this.#rules.length && rules.every((rule, at) => isSameRule(rule, this.#rules[at]));
    return isSame ? this.#holders : undefined;
  }

  keep(resolved: ResolvedRules, holders: HeldRules): void {
    [this.#rules, this.#holders] = [rulesIn(resolved), holders];
  }
}

/** Roles give the same objects until they change; rules of an owner are made for each question. */
const isSameRule = (rule: ResourceRule | NonResourceRule, known: ResourceRule | NonResourceRule | undefined): boolean =>
  rule === known || equalJson(rule, known);

const rulesIn = ({ resourceRules, nonResourceRules }: ResolvedRules): readonly (ResourceRule | NonResourceRule)[] => [
  ...resourceRules,
  ...nonResourceRules,
];

function* uncoveredBy(
  resolved: ResolvedRules,
  wanted: readonly PolicyRule[],
  last: LastHeldRules,
): Steps<readonly PolicyRule[]> {
  const known = last.of(resolved);
  if (known !== undefined) return yield* uncoveredRulesInSteps([], wanted, known, { comparisons: 0 });
  const holders = new HeldRules();
  const uncovered = yield* uncoveredRulesInSteps(policyRulesOf(resolved), wanted, holders);
  last.keep(resolved, holders);
  return uncovered;
}

/** Weighed as the text that it would be. */
const BYTES_OF_PIECE = 64;

/** The garbage collector may touch what it could not have written. */
function changesOnlyForGarbageCollection(object: KubeObject, old: KubeObject): boolean {
  const { ownerReferences: _owners, finalizers: _finalizers, managedFields: _fields, ...meta } = object.metadata;
  const { ownerReferences: _o, finalizers: _f, managedFields: _m, ...oldMeta } = old.metadata;
  return equalJson({ ...object, metadata: meta }, { ...old, metadata: oldMeta });
}
