import type { User } from "@postern/api/user";
import { expect, test } from "vitest";
import { filterUsers, teamsIn } from "./user-filter.ts";

const user = (name: string, spec: object, teams: readonly string[] = []): User =>
  ({ apiVersion: "management.postern/v1", kind: "User", metadata: { name }, spec, status: { teams } }) as User;

const USERS = [
  user("ann", {}, ["team-10", "team-9"]),
  user("ben", { disabled: true }, ["team-9"]),
  user("ci", { kind: "Bot" }),
];

test.each([
  ["", "", ["ann", "ben", "ci"]],
  ["person", "", ["ann", "ben"]],
  ["bot", "", ["ci"]],
  ["locked", "", ["ben"]],
  ["teamless", "", ["ci"]],
  ["", "team-10", ["ann"]],
  ["locked", "team-10", []],
])("users of state %j and team %j are %j", (state, team, names) => {
  expect(filterUsers(USERS, { state, team }).map(({ metadata }) => metadata.name)).toEqual(names);
});

test("teams are in natural order, each once", () => {
  expect(teamsIn(USERS)).toEqual(["team-9", "team-10"]);
});
