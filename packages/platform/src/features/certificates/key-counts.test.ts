import { expect, it } from "vitest";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import { accessKey } from "../access-keys/testing/access-key.ts";
import { createKeyCounts } from "./key-counts.ts";

const DAY = 86_400_000;
const NO_CERTIFICATES = { all: () => [], refusalOf: () => undefined };

/** Counts of `keys`, whose names with `off` in them are disabled, and how often each was looked at. */
function countsOf(keys: readonly AccessKeyState[]) {
  const clock = { now: () => 0, elapsed: () => clock.at, at: 0 };
  let looks = 0;
  const stateOf = ({ name }: AccessKeyState) => {
    looks += 1;
    return name.includes("off") ? ({ reason: "Disabled", message: "disabled" } as const) : undefined;
  };
  const index = { all: () => keys, stateOf, whenRead: async () => {} };
  const count = createKeyCounts({ keys: index, certificates: NO_CERTIFICATES, clock });
  return { count, clock, looks: () => looks };
}

it("counts keys by state, type and owner, and those that work by their expiry", async () => {
  const { count } = countsOf([
    accessKey({ name: "soon", type: "", expiresAt: DAY / 2 }),
    accessKey({ name: "later", type: "User", expiresAt: 20 * DAY }),
    accessKey({ name: "off", type: "Login", expiresAt: DAY / 2, owner: { kind: "team", name: "t" } }),
    accessKey({ name: "lasting", type: "Other" }),
  ]);
  const { keys, expiring } = await count();
  expect(keys).toEqual([
    { state: "Accepted", type: "User", ownerKind: "user", count: 2 },
    { state: "Disabled", type: "Login", ownerKind: "team", count: 1 },
    { state: "Accepted", type: "Other", ownerKind: "user", count: 1 },
  ]);
  expect(expiring).toEqual([1, 1, 2]);
});

it("counts few keys at every scrape", async () => {
  const { count, looks } = countsOf([accessKey({ name: "one" })]);
  await count();
  await count();
  expect(looks()).toBe(2);
});

it("does not count 100,000 keys for a scrape, and counts without blocking requests", async () => {
  const { count, clock, looks } = countsOf(Array.from({ length: 100_000 }, (_, at) => accessKey({ name: `k${at}` })));
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    if (isCounting) setImmediate(turn);
  };
  let isCounting = true;
  setImmediate(turn);
  const first = await Promise.all([count(), count(), count()]);
  isCounting = false;
  expect(first.map(({ keys }) => keys[0]?.count)).toEqual([100_000, 100_000, 100_000]);
  expect(looks()).toBe(100_000);
  expect(turns).toBeGreaterThan(300);

  clock.at = 29_999;
  expect(await count()).toBe(first[0]);
  expect(looks()).toBe(100_000);

  clock.at = 30_000;
  expect(await count()).toBe(first[0]);
  expect(looks()).toBeLessThan(100_500);
});
