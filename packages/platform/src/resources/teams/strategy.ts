// What happens to a team on its way into the store.

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Team } from "../../api/team.ts";
import { firstForeignGroup, type GivenRightsDependencies, mayGovern } from "../given-rights.ts";
import { validateGroups } from "../validate-groups.ts";

const validate = ({ spec }: Team) => validateGroups(spec?.groups ?? [], "spec.groups");

export function teamStrategy(dependencies: GivenRightsDependencies): Strategy<Team> {
  return {
    allowUnconditionalUpdate: true,
    async prepareForCreate(team, context) {
      await checkMembers(team, undefined, context, dependencies);
      return team;
    },
    async prepareForUpdate(team, old, context) {
      await checkMembers(team, old, context, dependencies);
      return team;
    },
    async prepareForDelete(team, context) {
      await checkGoverns(team, context, dependencies);
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
  dependencies: GivenRightsDependencies,
): Promise<void> {
  const [before, after] = [membersOf(old), membersOf(team)];
  if ([...after].some((member) => !before.has(member))) {
    const group = dependencies.names.teamGroup(team.metadata.name ?? "");
    if ((await firstForeignGroup([group], context, dependencies)) !== undefined) {
      throw refuse(
        team,
        "to add members you must be a member of the team, or have the verb impersonate on it",
        dependencies,
      );
    }
  }
  if (old !== undefined && [...before].some((member) => !after.has(member))) {
    await checkGoverns(old, context, dependencies);
  }
}

/** Throws 403 for who may do less than the team. */
async function checkGoverns(team: Team, context: RequestContext, dependencies: GivenRightsDependencies): Promise<void> {
  const { name = "" } = team.metadata;
  const group = dependencies.names.teamGroup(name);
  if (await mayGovern({ kind: "team", name }, { name: group, groups: [group] }, context, dependencies)) return;
  throw refuse(
    team,
    "the team may do what you may not: demoting and deleting it takes the verb impersonate on it",
    dependencies,
  );
}

const refuse = ({ metadata }: Team, why: string, { names }: GivenRightsDependencies) =>
  forbiddenRequestError({ group: names.managementGroup, resource: "teams" }, metadata.name ?? "", why);
