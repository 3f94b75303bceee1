// The bots that the administrators of a project may issue keys for, limited to that project.

import type { PlatformNames } from "@postern/api/platform-names";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { GROUP_AUTHENTICATED, type UserInfo } from "@postern/apiserver/authentication/user-info";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { uncoveredRules } from "@postern/apiserver/authorization/rbac/rule-coverage";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { PROJECT_ADMIN } from "../../../authorization/built-in-roles.ts";
import type { Authorization } from "../../../authorization/feature.ts";
import { asStanding } from "../../../authorization/standing-user.ts";
import type { Directory } from "../../../directory/directory.ts";

/**
 * True for callers that could make the bot an administrator of the project, and may do in the project all that the bot may. Only bots: the audit log must not
 * show requests of a job under the name of a person who does not know about it.
 */
export async function mayUseBot(
  name: string,
  project: string,
  asked: RequestContext,
  deps: { readonly names: PlatformNames; readonly directory: Directory } & Pick<
    Authorization,
    "ruleResolver" | "checkMembership"
  >,
): Promise<boolean> {
  const { names, directory, ruleResolver, checkMembership } = deps;
  // The rule lasts, and so do the keys of the bot.
  const context = asStanding(asked, names);
  const bot = directory.user(name);
  if (bot?.isBot !== true || !(await administers(project, name, context, names, checkMembership))) return false;
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
  names: PlatformNames,
  checkMembership: Authorization["checkMembership"],
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
