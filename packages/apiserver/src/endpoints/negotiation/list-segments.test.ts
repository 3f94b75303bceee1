import { expect, it } from "vitest";
import { CachedObject } from "../../cache/cached-object.ts";
import { createListSegments } from "./list-segments.ts";

const object = (name: string, size = 10): CachedObject =>
  CachedObject.fromObject(`/${name}`, { apiVersion: "v1", kind: "X", metadata: { name }, text: "x".repeat(size) });
const objects = (count: number): CachedObject[] => Array.from({ length: count }, (_, at) => object(`x-${at}`));
const plain = (items: readonly CachedObject[]) => items.map((item) => item.decode());

it("joins any list, and joins it again after an object was changed, added or removed", () => {
  const segments = createListSegments();
  const parse = (items: readonly CachedObject[]) =>
    JSON.parse(`[${Buffer.concat([...segments.partsOf(items)]).toString()}]`);
  const items = objects(1_000);
  expect(parse([])).toEqual([]);
  for (const list of [
    items,
    items,
    items.slice(0, 500),
    items.slice(3),
    items.with(0, object("first")),
    items.with(260, object("other")),
    items.toSpliced(255, 1),
    items.toSpliced(256, 0, object("new")),
    items.with(5, object("large", 400_000)),
    items.with(-1, object("large", 400_000)),
    [object("large", 400_000), object("larger", 500_000)],
    items.slice(0, 1),
  ]) {
    expect(parse(list)).toEqual(plain(list));
  }
});

it("gives the same bytes while nothing changes, and no more of them than it may keep", () => {
  const items = objects(768);
  const roomy = createListSegments();
  const buffers = [...roomy.partsOf(items)].map(({ buffer }) => buffer);
  expect(buffers).toHaveLength(3);
  const changed = items.with(400, object("other"));
  expect([...roomy.partsOf(changed)].map(({ buffer }, at) => buffer === buffers[at])).toEqual([true, false, true]);

  const narrow = createListSegments(1);
  const [before] = narrow.partsOf(items);
  const [after] = narrow.partsOf(items);
  expect(after).toEqual(before);
  expect(after?.buffer).not.toBe(before?.buffer);
});

it.each([false, true])("sends a large object from where it lies (typed: %s)", (isTyped) => {
  const large = object("large", 400_000);
  const parts = [...createListSegments().partsOf([object("small"), large, object("other")], isTyped)];
  expect(parts.filter(({ length }) => length > 300_000).map(({ buffer }) => buffer)).toEqual([large.memory.buffer]);
});
