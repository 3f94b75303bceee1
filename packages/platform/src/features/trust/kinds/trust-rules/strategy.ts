// Strategy of trust rules: you cannot write one that grants more than you may grant yourself.

import { restrictionNames, restrictionsOf } from "@postern/api/access-key-restrictions";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { MAX_ISSUED_SECONDS, type TrustRule } from "@postern/api/trust-rule";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { SealedFields, Strategy, WriteLimit } from "@postern/apiserver/registry/strategy";
import { jsonOf } from "../../../../foundation/issuers/terms-digest.ts";
import { type KeyOrigin, originsOf } from "../../../access-keys/key-origins.ts";
import { type CreatorLimitsDeps, creatorError } from "../../../access-keys/kinds/owned-access-keys/creator-limits.ts";
import { keyOfRequest, limitingMakersOf } from "../../../access-keys/kinds/owned-access-keys/lineage.ts";
import { isPermissionSubset } from "../../../access-keys/validity/permission-subset.ts";
import type { Authorization } from "../../../authorization/feature.ts";
import type { TrustRules } from "../../trust-rule-index.ts";
import {
  CLUSTER_TRUST_RULES,
  grantedScopeOf,
  projectBounds,
  readSealedTrustRule,
  sourceOf,
  TRUST_RULES,
  termsOf,
  writeSealedTrustRule,
} from "../../trust-rule-state.ts";
import { mayUseBot } from "./project-bots.ts";
import { validateTrustRule } from "./validation.ts";

export type TrustRuleDeps = CreatorLimitsDeps &
  Pick<Authorization, "ruleResolver" | "checkMembership"> & { readonly rules: Pick<TrustRules, "sourcesOf"> };

/** The keys of each are fetched by every server, and remain in memory. */
const MAX_ISSUERS_OF_PROJECT = 50;

const NOT_NARROWED =
  "spec.scope: unset, and so are rules: issued keys have all permissions of the user; list the projects, clusters or virtual clusters that the job needs";

const NO_CLAIMS =
  "spec.claims: unset, and so are conditions: every token of the issuer for these audiences is accepted; require a claim that names the job or the workload";

export function trustRuleStrategy(deps: TrustRuleDeps): Strategy<TrustRule> {
  const { names } = deps;
  const projectOf = ({ metadata: { namespace = "" } }: TrustRule): string | undefined => names.projectOf(namespace);

  const refuse = ({ metadata: { namespace = "", name = "" } }: TrustRule, why: string) =>
    forbiddenRequestError(
      { group: names.managementGroup, resource: namespace === "" ? CLUSTER_TRUST_RULES : TRUST_RULES },
      name,
      why,
    );

  /** Throws 403 for a rule that gives more than its writer may give. */
  const checkWriter = async (rule: TrustRule, context: RequestContext): Promise<void> => {
    const project = projectOf(rule);
    // Validation says so.
    if ((rule.metadata.namespace ?? "") !== "" && project === undefined) return;
    const { user, rules, allowedSourceRanges, ttl = MAX_ISSUED_SECONDS } = rule.spec;
    const scope = grantedScopeOf(rule.spec, project);
    const restrictions = restrictionsOf(jsonOf({ scope, rules }), restrictionNames(names.name));
    if (project !== undefined && !isPermissionSubset(restrictions, projectBounds(project)))
      throw refuse(rule, "spec.scope: a rule of a project cannot allow anything outside of it");
    // Template of the keys that the rule issues.
    const given: OwnedAccessKey = {
      ...rule,
      spec: jsonOf({ user, ttl, scope, rules, allowedSourceRanges }),
    };
    const fault = await creatorError(context, given, undefined, deps, async () =>
      project === undefined ? false : await mayUseBot(user, project, context, deps),
    );
    if (fault !== undefined) throw refuse(rule, fault);
    if (restrictions === undefined) context.warnings.add(NOT_NARROWED);
    const { claims = [], conditions = [] } = rule.spec;
    if (claims.length + conditions.length === 0) context.warnings.add(NO_CLAIMS);
  };

  return {
    allowUnconditionalUpdate: true,
    async prepareForCreate(rule, context) {
      const { status: _, ...rest } = rule;
      await checkWriter(rule, context);
      // The rest keeps the members that make it an object of this kind.
      return rest as TrustRule;
    },
    async prepareForUpdate(rule, old, context) {
      const isSame = termsOf(rule.spec, projectOf(rule)) === termsOf(old.spec, projectOf(old));
      if (!isSame) await checkWriter(rule, context);
      return rule;
    },
    limits(rule, old): readonly WriteLimit[] {
      const project = projectOf(rule);
      const { id } = sourceOf(rule.spec, true);
      if (project === undefined || (old !== undefined && sourceOf(old.spec, true).id === id)) return [];
      return [
        {
          name: `issuers of ${project}`,
          check() {
            const known = deps.rules.sourcesOf(project);
            if (known.has(id) || known.size < MAX_ISSUERS_OF_PROJECT) return;
            throw refuse(
              rule,
              `spec.issuer: the trust rules of a project may name ${MAX_ISSUERS_OF_PROJECT} issuers; use one of these, or delete rules. Cluster trust rules have no such limit`,
            );
          },
        },
      ];
    },
    validate: (rule) => validateTrustRule(rule, undefined, deps),
    validateUpdate: (rule, old) => validateTrustRule(rule, old, deps),
  };
}

/** The parents of a rule: the same as for a key that its writer creates. */
export function trustRuleSealedFields(deps: TrustRuleDeps): SealedFields {
  const { keys, directory, names } = deps;
  return {
    paths: [],
    seal(object, previous, context, old) {
      const [rule, before] = [asRule(object), old === undefined ? undefined : asRule(old)];
      const known = readSealedTrustRule(previous);
      const project = names.projectOf(rule.metadata.namespace ?? "");
      if (before !== undefined && termsOf(rule.spec, project) === termsOf(before.spec, project))
        return { object, sealed: previous };
      const writer = keyOfRequest(context, keys);
      const limiting = writer === undefined ? [] : limitingMakersOf(writer, deps);
      const isSameUser = before !== undefined && before.spec.user === rule.spec.user;
      return {
        object,
        sealed: writeSealedTrustRule({
          // A rule keeps its former parents at an update: only a new rule has only its creator's.
          origins: merged(known.origins, originsOf(context, keys)),
          parents: [...new Set([...known.parents, ...limiting.map(({ uid }) => uid)])],
          userUid: isSameUser ? known.userUid : directory.user(rule.spec.user)?.uid,
        }),
      };
    },
  };
}

/** The store holds no other kind under this resource, and its schema has checked it. */
const asRule = (object: KubeObject): TrustRule => object as TrustRule;

/** Each value of a key once. */
function merged(before: readonly KeyOrigin[], added: readonly KeyOrigin[]): readonly KeyOrigin[] {
  const others = before.filter((made) => !added.some(({ uid, serial }) => uid === made.uid && serial === made.serial));
  return [...others, ...added];
}
