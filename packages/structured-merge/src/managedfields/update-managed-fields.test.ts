import { describe, expect, it } from "vitest";
import { fieldSetOf } from "../fieldpath/field-set.ts";
import { toFieldsV1 } from "../fieldpath/fields-v1.ts";
import { fieldPath } from "../fieldpath/path-element.ts";
import { capUpdateOwners } from "./cap-update-owners.ts";
import { formatOwnerId, parseOwnerId } from "./owner-id.ts";

type Given = {
  readonly manager: string;
  readonly second: number;
  readonly apiVersion?: string;
  readonly operation?: "Apply";
};

const time = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

function managed(entries: readonly Given[]) {
  const owners = new Map();
  const times = new Map();
  for (const { manager, second, apiVersion = "v1", operation = "Update" } of entries) {
    const id = formatOwnerId({ manager, operation, apiVersion });
    owners.set(id, { set: fieldSetOf(fieldPath(manager)), apiVersion, applied: operation === "Apply" });
    times.set(id, time(second));
  }
  return { owners, times };
}

const numbered = (count: number, more: Partial<Given> = {}) =>
  Array.from({ length: count }, (_, index) => ({ manager: `m${index + 10}`, second: index, ...more }));

const result = (entries: readonly Given[]) => {
  const { owners, times } = capUpdateOwners(managed(entries));
  return new Map(
    [...owners].map(([id, { set }]) => {
      const { manager, apiVersion } = parseOwnerId(id);
      return [`${manager} ${apiVersion}`, { fields: Object.keys(toFieldsV1(set)), time: times.get(id) }];
    }),
  );
};

describe("capUpdateOwners", () => {
  it("leaves ten as they are", () => {
    const ten = managed(numbered(10));
    expect(capUpdateOwners(ten)).toBe(ten);
  });

  it("does not count appliers", () => {
    expect(result([...numbered(10), { manager: "a", second: 0, operation: "Apply" }]).size).toBe(11);
  });

  it("merges the oldest two of eleven, and takes the time of the younger one", () => {
    const capped = result(numbered(11));
    expect(capped.size).toBe(10);
    expect(capped.get("ancient-changes v1")).toEqual({ fields: ["f:m10", "f:m11"], time: time(1) });
  });

  it("continues to fill the existing bucket", () => {
    const capped = result([{ manager: "ancient-changes", second: 0 }, ...numbered(12, { second: 5 })]);
    expect(capped.size).toBe(10);
    expect(capped.get("ancient-changes v1")?.fields).toEqual(["f:ancient-changes", "f:m10", "f:m11", "f:m12"]);
  });

  it("loses no field when the bucket is younger than what goes into it", () => {
    const capped = result([...numbered(12), { manager: "ancient-changes", second: 59 }]);
    expect(capped.size).toBe(10);
    expect([...capped.values()].flatMap(({ fields }) => fields)).toHaveLength(13);
  });

  it("keeps a bucket for each version", () => {
    const capped = result([...numbered(6), ...numbered(6, { apiVersion: "v2" })]);
    expect(capped.size).toBe(10);
    expect([...capped.keys()].filter((name) => name.startsWith("ancient")).sort()).toEqual([
      "ancient-changes v1",
      "ancient-changes v2",
    ]);
  });
});
