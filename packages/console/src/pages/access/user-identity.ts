// A user as requests of the user have it: the Kubernetes user name, and the groups.

import type { User } from "@postern/api/user";
import { nameOf } from "../../api/resources.ts";
import { settings } from "../../settings.ts";

export type Identity = { readonly user: string; readonly groups: readonly string[] };

export const teamGroup = (team: string): string => `${settings.name}:team:${team}`;

export const userGroup = (user: string): string => `${settings.name}:user:${user}`;

/** `groups`: the user's own, and those of the teams. */
export function identityOf(user: User): Identity {
  const { spec = {}, status = {} } = user;
  const name = nameOf(user);
  return {
    user: spec.subject || name,
    groups: [
      ...(spec.groups ?? []),
      ...(status.teams ?? []).map(teamGroup),
      userGroup(name),
      `${settings.name}:authenticated`,
      "system:authenticated",
    ],
  };
}
