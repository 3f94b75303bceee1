import { expect, test, vi } from "vitest";
import { CachedObject, encodeStoredValue } from "../../cache/cached-object.ts";
import { ParsedObjects } from "./parsed-objects.ts";

const entryOf = (name: string, revision: number, text = "") =>
  CachedObject.fromEntry({
    key: `/configmaps/${name}`,
    revision,
    value: encodeStoredValue({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text } }),
  });

test("parses each version of an object once", () => {
  const parsed = new ParsedObjects();
  const first = entryOf("a", 1);
  const decode = vi.spyOn(first, "decode");
  expect(parsed.of(first)).toEqual(first.decode());
  expect(parsed.of(first)).toBe(parsed.of(first));
  expect(decode).toHaveBeenCalledTimes(2);

  expect(parsed.of(entryOf("a", 2)).metadata.resourceVersion).toBe("2");
});

test("does not mistake an object for another one of its name and revision", () => {
  const parsed = new ParsedObjects();
  parsed.of(entryOf("a", 1, "before"));
  expect(parsed.of(entryOf("a", 1, "after"))["data"]).toEqual({ text: "after" });
});

test("keeps the last ones, and nothing large", () => {
  const parsed = new ParsedObjects();
  const objects = Array.from({ length: 65 }, (_, at) => entryOf(`o-${at}`, at + 1));
  const kept = objects.map((object) => parsed.of(object));
  expect(parsed.of(objects[64] as CachedObject)).toBe(kept[64]);
  expect(parsed.of(objects[0] as CachedObject)).not.toBe(kept[0]);

  const large = entryOf("large", 1, "x".repeat(100_000));
  expect(parsed.of(large)).not.toBe(parsed.of(large));

  const halves = ["a", "b", "c", "d", "e", "f"].map((name) => entryOf(name, 1, "x".repeat(60_000)));
  const [oldest] = halves.map((object) => parsed.of(object));
  expect(parsed.of(halves[0] as CachedObject)).not.toBe(oldest);
  expect(parsed.of(halves[5] as CachedObject)).toBe(parsed.of(halves[5] as CachedObject));
});
