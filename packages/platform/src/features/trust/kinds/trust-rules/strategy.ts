// Strategy of trust rules: you cannot write one that grants more than you may grant yourself.

import { restrictionNames, restrictionsOf } from "@postern/api/access-key-restrictions";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import { MAX_ISSUED_SECONDS, type TrustRule } from "@postern/api/trust-rule";
import { forbiddenRequestError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { GROUP_AUTHENTICATED, type UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RuleResolver } from "@postern/apiserver/authorization/authorizer";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { uncoveredRules } from "@postern/apiserver/authorization/rbac/rule-coverage";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { SealedFields, Strategy } from "@postern/apiserver/registry/strategy";
import { type KeyOrigin, originsOf } from "../../../access-keys/key-origins.ts";
import { type CreatorLimitsDeps, creatorError } from "../../../access-keys/kinds/owned-access-keys/creator-limits.ts";
import { keyOfRequest, passesItsEndOn } from "../../../access-keys/kinds/owned-access-keys/lineage.ts";
import { isPermissionSubset } from "../../../access-keys/permission-subset.ts";
import { PROJECT_ADMIN } from "../../../authorization/built-in-roles.ts";
import type { MembershipCheck } from "../../../authorization/membership-check.ts";
import type { Directory } from "../../../directory/directory.ts";
import {
  CLUSTER_TRUST_RULES,
  grantedScopeOf,
  jsonOf,
  projectBounds,
  readSealedTrustRule,
  TRUST_RULES,
  termsOf,
  writeSealedTrustRule,
} from "../../trust-rule-state.ts";
import { validateTrustRule } from "./validation.ts";

export type TrustRuleStrategyDeps = CreatorLimitsDeps & ProjectBotsDeps;

const NOT_NARROWED =
  "spec.scope: unset, and so are rules: issued keys have all permissions of the user; list the projects, clusters or virtual clusters that the job needs";

export function trustRuleStrategy(deps: TrustRuleStrategyDeps): Strategy<TrustRule> {
  const { names } = deps;
  const projectOf = ({ metadata: { namespace = "" } }: TrustRule): string | undefined => names.projectOf(namespace);

  /** Throws 403 for who gives more than it may. */
  const checkWriter = async (rule: TrustRule, context: RequestContext): Promise<void> => {
    const project = projectOf(rule);
    const { namespace = "", name = "" } = rule.metadata;
    // Validation says so.
    if (namespace !== "" && project === undefined) return;
    const { user, rules, ttl = MAX_ISSUED_SECONDS } = rule.spec;
    const scope = grantedScopeOf(rule.spec, project);
    const refuse = (why: string) =>
      forbiddenRequestError(
        { group: names.managementGroup, resource: namespace === "" ? CLUSTER_TRUST_RULES : TRUST_RULES },
        name,
        why,
      );
    const restrictions = restrictionsOf(jsonOf({ scope, rules }), restrictionNames(names.name));
    if (project !== undefined && !isPermissionSubset(restrictions, projectBounds(project)))
      throw refuse("spec.scope: a rule of a project cannot allow anything outside of it");
    // Template of the keys that the rule issues.
    const given = { ...rule, spec: jsonOf({ user, ttl, scope, rules }) } as unknown as OwnedAccessKey;
    const fault = await creatorError(context, given, undefined, deps, async () =>
      project === undefined ? false : await mayUseBot(user, project, context, deps),
    );
    if (fault !== undefined) throw refuse(fault);
    if (restrictions === undefined) context.warnings.add(NOT_NARROWED);
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
    validate: (rule) => validateTrustRule(rule, undefined, deps),
    validateUpdate: (rule, old) => validateTrustRule(rule, old, deps),
  };
}

/** The parents of a rule: the same as for a key that its writer creates. */
export function trustRuleSealedFields(deps: TrustRuleStrategyDeps): SealedFields {
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
      const isSameUser = before !== undefined && before.spec.user === rule.spec.user;
      return {
        object,
        sealed: writeSealedTrustRule({
          // A rule keeps its former parents at an update: only a new rule has only its creator's.
          origins: merged(known.origins, originsOf(context, keys)),
          parents: [...new Set([...known.parents, ...(writer && passesItsEndOn(writer, deps) ? [writer.uid] : [])])],
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

// Which bots the administrators of a project may issue keys for, limited to that project.

type ProjectBotsDeps = {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly ruleResolver: RuleResolver;
  readonly checkMembership: MembershipCheck;
};

/**
 * True for who could make the bot an administrator of the project, and may do in the project all that the bot may. Only bots: the audit log must not
 * show requests of a job under the name of a person who does not know about it.
 */
async function mayUseBot(
  name: string,
  project: string,
  context: RequestContext,
  deps: ProjectBotsDeps,
): Promise<boolean> {
  const { names, directory, ruleResolver } = deps;
  const bot = directory.user(name);
  if (bot?.isBot !== true || !(await administers(project, name, context, deps))) return false;
  const namespace = names.projectNamespace(project);
  const teams = directory.teamsOf(name).map((team) => names.teamGroup(team.name));
  const as: UserInfo = {
    name: bot.subject,
    groups: [...bot.groups, GROUP_AUTHENTICATED, names.authenticatedGroup, names.userGroup(name), ...teams],
  };
  const [theirs, own] = await Promise.all([
    ruleResolver.rulesFor(as, namespace, undefined, context),
    ruleResolver.rulesFor(context.user, namespace, context.credential, context),
  ]);
  const wanted = policyRulesOf(theirs).filter((rule) => !isElsewhere(rule, project, names));
  return uncoveredRules(policyRulesOf(own), wanted).length === 0;
}

async function administers(
  project: string,
  bot: string,
  context: RequestContext,
  { names, checkMembership }: ProjectBotsDeps,
): Promise<boolean> {
  const members = [{ kind: "User", name: bot, clusterRole: names.role(PROJECT_ADMIN) }];
  const asMember = {
    apiVersion: `${names.managementGroup}/v1`,
    kind: "Project",
    metadata: { name: project },
    spec: { members },
  };
  try {
    await checkMembership(asMember, undefined, context);
    return true;
  } catch (error) {
    if (isApiError(error, "Forbidden")) return false;
    throw error;
  }
}

/** The bot's own user and teams, and other projects by their names: keys that are narrowed to this project open none of them. */
function isElsewhere(
  { apiGroups, resources, resourceNames }: PolicyRule,
  project: string,
  names: PlatformNames,
): boolean {
  if (resourceNames.length === 0 || apiGroups.length !== 1 || apiGroups[0] !== names.managementGroup) return false;
  const kinds = new Set(resources.map((resource) => resource.split("/")[0]));
  const isAboutPeople = [...kinds].every((kind) => kind === "users" || kind === "teams");
  const isAboutProjects = [...kinds].every((kind) => kind === "projects") && !resourceNames.includes(project);
  return isAboutPeople || isAboutProjects;
}
