import { expect, it } from "vitest";
import { quotaUses } from "./quota-use.ts";

const project = (limit: Record<string, string>, used: Record<string, string>) => ({
  status: { quotas: { project: { limit, used } } },
});

it("has the fullest quota first, and what is not counted last", () => {
  const uses = quotaUses(
    project(
      { "virtualcluster.bytes": "5Mi", spaceinstances: "4", ownedaccesskeys: "10", none: "0" },
      {
        spaceinstances: "1",
        ownedaccesskeys: "9",
        none: "0",
      },
    ),
  );
  expect(uses.map(({ resource, used, share }) => [resource, used, share])).toEqual([
    ["none", 0, 1],
    ["ownedaccesskeys", 9, 0.9],
    ["spaceinstances", 1, 0.25],
    ["virtualcluster.bytes", undefined, undefined],
  ]);
});

it("is empty without quotas", () => {
  expect(quotaUses({})).toEqual([]);
});
