// What happens to a team on its way into the store.

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Team } from "../../api/team.ts";
import { firstRefusedGroup, type GrantCheckDeps, mayAdminister } from "../grant-check.ts";
import { validateGroups } from "../validate-groups.ts";

const validate = ({ spec }: Team) => validateGroups(spec?.groups ?? [], "spec.groups");

export function teamStrategy(deps: GrantCheckDeps): Strategy<Team> {
  return {
    allowUnconditionalUpdate: true,
    async prepareForCreate(team, context) {
      await checkMembers(team, undefined, context, deps);
      return team;
    },
    async prepareForUpdate(team, old, context) {
      await checkMembers(team, old, context, deps);
      return team;
    },
    async prepareForDelete(team, context) {
      await checkGoverns(team, context, deps);
      return team;
    },
    validate,
    validateUpdate: validate,
  };
}

/** Named members, and groups whose users are members: both get the group of the team. */
const membersOf = (team: Team | undefined): ReadonlySet<string> =>
  new Set([
    ...(team?.spec?.users ?? []).map((name) => `user ${name}`),
    ...(team?.spec?.groups ?? []).map((name) => `group ${name}`),
  ]);

async function checkMembers(
  team: Team,
  old: Team | undefined,
  context: RequestContext,
  deps: GrantCheckDeps,
): Promise<void> {
  const [before, after] = [membersOf(old), membersOf(team)];
  if ([...after].some((member) => !before.has(member))) {
    const group = deps.names.teamGroup(team.metadata.name ?? "");
    if ((await firstRefusedGroup([group], context, deps)) !== undefined) {
      throw refuse(team, "to add members you must be a member of the team, or have the verb impersonate on it", deps);
    }
  }
  if (old !== undefined && [...before].some((member) => !after.has(member))) {
    await checkGoverns(old, context, deps);
  }
}

/** Throws 403 for who may do less than the team. */
async function checkGoverns(team: Team, context: RequestContext, deps: GrantCheckDeps): Promise<void> {
  const { name = "" } = team.metadata;
  const group = deps.names.teamGroup(name);
  if (await mayAdminister({ kind: "team", name }, { name: group, groups: [group] }, context, deps)) return;
  throw refuse(
    team,
    "the team has permissions that you do not have: demoting or deleting it requires the verb impersonate on it",
    deps,
  );
}

const refuse = ({ metadata }: Team, why: string, { names }: GrantCheckDeps) =>
  forbiddenRequestError({ group: names.managementGroup, resource: "teams" }, metadata.name ?? "", why);
