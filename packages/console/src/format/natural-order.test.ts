import { expect, it } from "vitest";
import { inNaturalOrder } from "./natural-order.ts";

it.each([
  [
    ["fraud 49", "fraud 9", "fraud 0"],
    ["fraud 0", "fraud 9", "fraud 49"],
  ],
  [
    ["v1.10.0", "v1.9.2"],
    ["v1.9.2", "v1.10.0"],
  ],
  [
    ["2026-11-29T10:00:00Z", "", "2026-02-01T09:59:59Z"],
    ["", "2026-02-01T09:59:59Z", "2026-11-29T10:00:00Z"],
  ],
])("sorts %j", (given, sorted) => {
  expect(given.toSorted(inNaturalOrder)).toEqual(sorted);
});
