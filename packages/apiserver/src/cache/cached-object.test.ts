// An object is kept as it is stored, alone or among others in the memory of a page, and shown with its resourceVersion.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { describe, expect, test } from "vitest";
import type { StoredEntry } from "../storage/storage.ts";
import { CachedObject, encodeStoredValue } from "./cached-object.ts";
import { createMemberReader } from "./read-members.ts";

const boat = (name: string, spec: JsonObject = {}): KubeObject => ({
  apiVersion: "harbour.test/v1",
  kind: "Boat",
  metadata: { name, labels: { pier: "älter" } },
  spec,
});
const shown = (object: KubeObject, revision: number) =>
  JSON.stringify({ ...object, metadata: { resourceVersion: String(revision), ...object.metadata } });
const textOf = (object: CachedObject): string => Buffer.from(object.bytes).toString();

/** Entries whose values lie one behind the other in one buffer, as a store sends them. */
function pageOf(...values: readonly Uint8Array[]): readonly StoredEntry[] {
  const { buffer } = new Uint8Array(Buffer.concat(values));
  let start = 0;
  return values.map((value, index) => {
    const entry = { key: `/boats/${index}`, value: Buffer.from(buffer, start, value.length), revision: index + 10 };
    start += value.length;
    return entry;
  });
}

const SEALED = { key: { digest: "d" } };
const reading: readonly [how: string, read: (page: readonly StoredEntry[]) => readonly CachedObject[]][] = [
  ["by itself", (page) => page.map((entry) => CachedObject.fromEntry(entry))],
  ["as part of its page", (page) => page.map(CachedObject.entryReader())],
];

describe.each(reading)("an entry %s", (_, read) => {
  const objects = [boat("a"), boat("b", { text: 'metadata":{' }), boat("c")];
  const page = pageOf(...objects.map((object, index) => encodeStoredValue(object, index === 1 ? SEALED : undefined)));
  const kept = read(page);

  test("is shown with its revision, and without what is sealed", () => {
    expect(kept.map(textOf)).toEqual(objects.map((object, index) => shown(object, index + 10)));
    expect(kept.map((object) => object.byteLength)).toEqual(kept.map((object) => object.bytes.length));
    expect(kept.map((object) => object.decode().metadata.resourceVersion)).toEqual(["10", "11", "12"]);
  });

  test("returns encrypted content on request", () => {
    expect(kept.map((object) => object.decodeSealed())).toEqual([undefined, SEALED, undefined]);
  });

  test("gives members of itself, and none of its neighbours'", () => {
    const reader = createMemberReader({ metadata: { name: true }, key: true });
    expect(kept.map((object) => object.read(reader))).toEqual(["a", "b", "c"].map((name) => ({ metadata: { name } })));
  });

  test("gives the same where its writer's object is at hand, and parses nothing", () => {
    const reader = createMemberReader({ metadata: { name: true, labels: true }, spec: true, key: true });
    const entry = page[0]!;
    const [parsed, written] = [read([entry])[0]!, read([{ ...entry, value: Buffer.from(entry.value) }])[0]!];
    written.keepDecoded(objects[0]);
    expect(written.read(reader)).toEqual(parsed.read(reader));
    expect(written.mayHave(Buffer.from('"absent":'))).toBe(true);
    expect(JSON.stringify(written.decode())).toBe(JSON.stringify(parsed.decode()));
    expect(written.decode().metadata.labels).toBe(objects[0]!.metadata.labels);
    expect(written.labels).toEqual(parsed.labels);
    written.letGoOfDecoded();
    expect(written.decode().metadata.labels).not.toBe(objects[0]!.metadata.labels);
    expect(written.mayHave(Buffer.from('"absent":'))).toBe(false);
    expect(written.mayHave(Buffer.from('"metadata":'))).toBe(true);
  });

  test("has its labels at hand", () => {
    expect(kept.map((object) => object.labels)).toEqual(Array(3).fill({ pier: "älter" }));
    expect(kept[0]!.labels).toBe(kept[0]!.labels);
    const [bare] = read(pageOf(encodeStoredValue({ apiVersion: "v1", kind: "Boat", metadata: { name: "d" } })));
    expect(bare!.labels).toEqual({});
  });

  test("is written where it is wanted", () => {
    const target = Buffer.alloc(kept[0]!.byteLength + 2, "-");
    expect(kept[0]!.writeTo(target, 1)).toBe(target.length - 1);
    expect(target.toString()).toBe(`-${shown(objects[0]!, 10)}-`);
  });

  test("lies in pieces, which are no copies of it, and stay when it moves", () => {
    for (const object of [kept[0]!, kept[0]!.atRevision(0)]) {
      for (const form of [object, object.item]) {
        const target = Buffer.alloc(form.byteLength);
        form.writeTo(target, 0);
        const pieces = form.pieces();
        expect(Buffer.concat(pieces).toString()).toBe(target.toString());
        expect(pieces.at(-1)!.buffer).toBe(object.memory.buffer);
      }
    }
    const [object] = read(pageOf(encodeStoredValue(objects[0]!)));
    const text = textOf(object!);
    const pieces = object!.pieces();
    object!.moveTo(Buffer.alloc(1_000), 7);
    expect([Buffer.concat(pieces).toString(), Buffer.concat(object!.pieces()).toString()]).toEqual([text, text]);
  });

  test("is shown otherwise without losing what is sealed", () => {
    const [, object] = kept;
    const head = Buffer.from('{"apiVersion":"v2","kind":"Ship"');
    const others = [
      object!.atRevision(99),
      object!.withHead(head, '{"apiVersion":"harbour.test/v1","kind":"Boat"'.length),
      object!.withContent(boat("b", { more: true })),
    ];
    expect(others.map(textOf)).toEqual([
      shown(objects[1]!, 99),
      shown({ ...objects[1]!, apiVersion: "v2", kind: "Ship" }, 11),
      shown(boat("b", { more: true }), 11),
    ]);
    expect(others.map((other) => other.decodeSealed())).toEqual([SEALED, SEALED, SEALED]);
  });
});

test("an entry by itself does not keep the page it came in", () => {
  const [entry] = pageOf(encodeStoredValue(boat("a")), encodeStoredValue(boat("b")));
  const object = CachedObject.fromEntry(entry!);
  new Uint8Array(entry!.value.buffer).fill(0);
  expect(textOf(object)).toBe(shown(boat("a"), 10));
});

test("an object that was never stored has no revision", () => {
  const object = CachedObject.fromObject("/boats/a", boat("a"));
  expect(textOf(object)).toBe(JSON.stringify(boat("a")));
  const stored = boat("a");
  const held = CachedObject.fromObject("/boats/a", {
    ...stored,
    metadata: { ...stored.metadata, resourceVersion: "7" },
  });
  expect(textOf(held)).toBe(shown(boat("a"), 7));
  expect(held.revision).toBe(7);
});

test("encrypted content is searched without being parsed", () => {
  const before = Buffer.from('{"id":"');
  const peek = (sealed?: JsonObject, behind = "") => {
    const [entry] = pageOf(encodeStoredValue(boat("a"), sealed), Buffer.from(behind));
    return CachedObject.entryReader()(entry!).peekSealed(before);
  };
  expect(peek({ id: "abc", secret: "x" })).toBe("abc");
  expect(peek({ id: "" })).toBe("");
  expect(peek({ secret: "x", id: "abc" })).toBeUndefined();
  expect(peek({ id: 'a"c' })).toBeUndefined();
  expect(peek({ id: "ä" })).toBeUndefined();
  expect(peek({})).toBeUndefined();
  expect(peek(undefined, '{"id":"abc"}')).toBeUndefined();
  expect(peek(undefined, '\n{"id":"abc"}')).toBeUndefined();
});

test("finds a text in what is served, whatever else is stored", () => {
  const has = (object: KubeObject, sealed?: JsonObject, behind = "") => {
    const [entry] = pageOf(encodeStoredValue(object, sealed), Buffer.from(behind));
    return CachedObject.entryReader()(entry!).has(Buffer.from('"token"'));
  };
  expect(has({ ...boat("a"), spec: { token: "x" } }, { key: "abc" })).toBe(true);
  expect(has({ ...boat("a"), spec: { token: "x" } })).toBe(true);
  expect(has({ ...boat("a"), spec: { text: '"token"' } })).toBe(false);
  expect(has(boat("a"), { token: "x" })).toBe(false);
  expect(has(boat("a"), undefined, '"token"')).toBe(false);
});

test("finds a text in encrypted values, whatever else is stored", () => {
  const has = (object: KubeObject, sealed?: JsonObject, behind = "") => {
    const [entry] = pageOf(encodeStoredValue(object, sealed), Buffer.from(behind));
    return CachedObject.entryReader()(entry!).hasSealed(Buffer.from('"token":'));
  };
  expect(has(boat("a"), { key: { id: "abc" }, secrets: { token: "x" } })).toBe(true);
  expect(has(boat("a"), { key: { id: "token" } })).toBe(false);
  expect(has({ ...boat("a"), spec: { token: "x" } }, { key: "abc" })).toBe(false);
  expect(has({ ...boat("a"), spec: { token: "x" } })).toBe(false);
  expect(has(boat("a"), {}, '"token":')).toBe(false);
  expect(has(boat("a"), undefined, '\n{"token":"x"}')).toBe(false);
});
