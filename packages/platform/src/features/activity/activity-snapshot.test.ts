import { expect, it } from "vitest";
import { type ActivitySnapshot, addActivity } from "./activity-snapshot.ts";

const MINUTE_MS = 60_000;

const snapshot = (more: Partial<ActivitySnapshot>, ...requests: readonly number[]): ActivitySnapshot => ({
  from: 10 * MINUTE_MS,
  counts: { requests, refused: requests.map(() => 1), failed: requests.map(() => 0), watches: requests.map(() => 2) },
  openWatches: 2,
  metricsReadAt: undefined,
  used: [],
  refused: [],
  changes: [],
  ...more,
});
const change = (at: number, name: string) => ({
  ...{ at, name, user: "jane", credentialId: undefined, verb: "create", resource: "projects" },
  ...{ subresource: "", namespace: "" },
});

it("adds minute to minute, also where one has begun later, and keys to keys", () => {
  const one = snapshot(
    { used: [{ id: "b", count: 5 }], changes: [change(9, "later"), change(2, "first")], metricsReadAt: 7 },
    ...[1, 2, 3],
  );
  const other = snapshot(
    {
      ...{ from: 11 * MINUTE_MS, metricsReadAt: 8 },
      used: [
        { id: "a", count: 4, owner: "jane", virtualCluster: "shop/dev" },
        { id: "b", count: 1 },
        { id: "c", count: 7 },
      ],
      changes: [change(5, "between")],
    },
    ...[10, 20, 30],
  );
  const sum = addActivity(one, other);
  expect(sum.from).toBe(10 * MINUTE_MS);
  expect(sum.counts).toEqual({
    requests: [1, 12, 23, 30],
    refused: [1, 2, 2, 1],
    failed: [0, 0, 0, 0],
    watches: [2, 4, 4, 2],
  });
  expect(sum).toMatchObject({ openWatches: 4, metricsReadAt: 8 });
  expect(sum.used).toEqual([
    { id: "c", count: 7 },
    { id: "b", count: 6 },
    { id: "a", count: 4, owner: "jane", virtualCluster: "shop/dev" },
  ]);
  expect(sum.changes.map(({ name }) => name)).toEqual(["later", "between", "first"]);
});

it("the sum of one snapshot is that snapshot", () => {
  const one = snapshot({ used: [{ id: "b", count: 5 }] }, 1, 2);
  expect(addActivity(one)).toEqual(one);
});
