// The refusal of an apply that others own much of.

import { expect, it } from "vitest";
import { createFieldManager } from "./field-manager.ts";
import { MAX_NAMED_CONFLICTS } from "./merge-conflict-error.ts";

const NOW = "2020-01-01T00:00:00Z";
const manager = createFieldManager({ schema: undefined, groupVersion: { group: "a.b", version: "v1" } });
const objectOf = (count: number, value: string): any => ({
  apiVersion: "a.b/v1",
  kind: "K",
  metadata: { name: "x" },
  data: Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value])),
});
function refusal(count: number): any {
  const live = manager.apply({ live: undefined, applied: objectOf(count, "1"), manager: "a", now: NOW });
  try {
    manager.apply({ live, applied: objectOf(count, "2"), manager: "b", now: NOW });
  } catch (error) {
    return error;
  }
  throw new Error("it was taken");
}

it("names each field as long as there are not many", () => {
  const { message, details } = refusal(MAX_NAMED_CONFLICTS);
  expect(message).toContain(`Apply failed with ${MAX_NAMED_CONFLICTS} conflicts: conflicts with "a":\n- .data.k0`);
  expect(message).not.toContain(" more");
  expect(details.causes).toHaveLength(MAX_NAMED_CONFLICTS);
});

it("names the first of many fields, and says how many there are", () => {
  const { message, details } = refusal(20_000);
  expect(message).toContain("Apply failed with 20000 conflicts: ");
  expect(message.endsWith(`\nand ${20_000 - MAX_NAMED_CONFLICTS} more`)).toBe(true);
  expect(details.causes).toHaveLength(MAX_NAMED_CONFLICTS);
});
