// The strategy of teams: checks and changes before a team is stored.

import type { Team } from "@postern/api/team";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { validateGroups } from "../../../../foundation/kinds/validate-groups.ts";
import { provisionerOf } from "../../../authorization/key-standing.ts";
import { firstRefusedGroup, type GrantCheckDeps, mayAdminister } from "../../../authorization/kinds/grant-check.ts";
import type { DirectoryUser } from "../../directory.ts";
import {
  checkAdministratorsStay,
  checkPowerless,
  checkProvisioned,
  type ProvisionedDeps,
  withProvisioner,
} from "../provisioned.ts";

const validate = ({ spec }: Team) => validateGroups(spec?.groups ?? [], "spec.groups");

export function teamStrategy(deps: ProvisionedDeps): Strategy<Team> {
  return {
    allowUnconditionalUpdate: true,
    async prepareForCreate(team, context) {
      if (provisionerOf(context.credential) === undefined) await checkMembers(team, undefined, context, deps);
      else checkProvisionedTeam(team, undefined, context, deps);
      return await withProvisioner(team, undefined, holderOf(team), context, deps);
    },
    async prepareForUpdate(team, old, context) {
      if (provisionerOf(context.credential) === undefined) await checkMembers(team, old, context, deps);
      else checkProvisionedTeam(team, old, context, deps);
      return await withProvisioner(team, old, holderOf(team), context, deps);
    },
    async prepareForDelete(team, context) {
      if (provisionerOf(context.credential) === undefined) await checkGoverns(team, context, deps);
      else {
        checkProvisioned(team, holderOf(team), context, deps);
        const isMember = ({ name }: DirectoryUser): boolean =>
          deps.directory.teamsOf(name).some((other) => other.name === team.metadata.name);
        checkAdministratorsStay(holderOf(team), isMember, deps);
      }
      return team;
    },
    validate,
    validateUpdate: validate,
  };
}

const holderOf = ({ metadata: { name = "" } }: Team) => ({ kind: "team", name }) as const;

/** A directory changes the teams that it created, and their members. Throws ApiError 403. */
function checkProvisionedTeam(team: Team, old: Team | undefined, context: RequestContext, deps: ProvisionedDeps): void {
  const holder = holderOf(team);
  if (old === undefined) {
    const group = deps.names.teamGroup(holder.name);
    checkPowerless(holder, { name: group, groups: [group] }, deps);
  } else checkProvisioned(old, holder, context, deps);
  const after = new Set(team.spec?.users ?? []);
  const removed = new Set((old?.spec?.users ?? []).filter((name) => !after.has(name)));
  if (removed.size > 0) checkAdministratorsStay(holder, ({ name }) => removed.has(name), deps);
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

/** Throws 403 for a caller with fewer permissions than the team. */
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
