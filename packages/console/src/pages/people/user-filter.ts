// The filters of the list of users.

import type { User } from "@postern/api/user";
import { inNaturalOrder } from "../../format/natural-order.ts";

/** As the address has them; the empty one is all. */
export const USER_STATES = ["", "person", "bot", "locked", "teamless"] as const;

/** `team`: empty for all. */
export type UserFilter = { readonly state: string; readonly team: string };

export const filterUsers = (users: readonly User[], { state, team }: UserFilter): readonly User[] =>
  users.filter((user) => isIn(state, user) && (team === "" || teamsOf(user).includes(team)));

function isIn(state: string, user: User): boolean {
  switch (state) {
    case "person":
      return user.spec?.kind !== "Bot";
    case "bot":
      return user.spec?.kind === "Bot";
    case "locked":
      return user.spec?.disabled === true;
    case "teamless":
      return teamsOf(user).length === 0;
    default:
      return true;
  }
}

const teamsOf = ({ status }: User): readonly string[] => status?.teams ?? [];

/** All teams of the users, each once. */
export const teamsIn = (users: readonly User[]): readonly string[] =>
  [...new Set(users.flatMap(teamsOf))].sort(inNaturalOrder);
