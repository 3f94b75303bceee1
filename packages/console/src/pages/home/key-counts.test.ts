import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { expect, it } from "vitest";
import { momentOf } from "../keys/key-state.ts";
import { countKeys, WEEKS } from "./key-counts.ts";

const NOW = Date.parse("2026-11-28T12:00:00Z");
const MOMENT = momentOf(NOW);
const at = (days: number): string => new Date(NOW + days * 86_400_000).toISOString();

const key = (name: string, age: number, end?: number, spec: object = {}, used = 0): OwnedAccessKey =>
  ({
    metadata: { name, creationTimestamp: at(-age) },
    spec: { user: "jane", ...spec },
    status: { lastActivity: at(-used), ...(end === undefined ? {} : { expirationTimestamp: at(end) }) },
  }) as OwnedAccessKey;

const namesOf = (keys: readonly OwnedAccessKey[]) => keys.map(({ metadata }) => metadata.name);

it("puts each valid key into one class of age and one of its end", () => {
  const keys = [
    key("new", 0.5, 3),
    key("week", 6, 8),
    key("month", 20, 89),
    key("quarter", 60, 200),
    key("year", 300),
    key("older", 900),
    key("over", 30, -1),
    key("off", 30, 60, { disabled: true }),
    key("session", 0.1, 0.4, { type: "Login" }),
  ];
  const { ages, ends, valid } = countKeys(keys, MOMENT);
  expect(valid).toBe(6);
  expect(ages).toEqual([1, 1, 1, 1, 1, 1]);
  expect(ends).toHaveLength(WEEKS + 2);
  expect([ends[0], ends[1], ends[12], ends[WEEKS], ends[WEEKS + 1]]).toEqual([1, 1, 1, 1, 2]);
});

it("finds the key of the first start, keys without an end, and those that nobody uses", () => {
  const first = key("admin", 40, undefined, { user: "admin", type: "User" });
  const { attention } = countKeys(
    [first, key("ci", 5), key("idle", 90, 90, {}, 45), key("idle-forever", 90, undefined, {}, 45)],
    MOMENT,
  );
  expect(namesOf(attention.first)).toEqual(["admin"]);
  expect(namesOf(attention.permanent)).toEqual(["ci"]);
  expect(namesOf(attention.unused)).toEqual(["idle", "idle-forever"]);
});
