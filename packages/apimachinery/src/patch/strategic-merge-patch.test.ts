import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import type { StructuralSchema } from "../schema/structural-schema.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

const anything: StructuralSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const schema: StructuralSchema = {
  type: "object",
  properties: {
    name: { type: "string" },
    value: { type: "integer" },
    simpleMap: { type: "object", additionalProperties: { type: "string" } },
    replacedMap: { ...anything, "x-kubernetes-patch-strategy": "replace" },
    union: { ...anything, "x-kubernetes-patch-strategy": "retainKeys" },
    finalizers: { type: "array", items: { type: "string" }, "x-kubernetes-patch-strategy": "merge" },
    atomic: { type: "array", items: { type: "string" } },
    list: {
      type: "array",
      "x-kubernetes-patch-strategy": "merge,retainKeys",
      "x-kubernetes-patch-merge-key": "name",
      items: {
        type: "object",
        properties: {
          name: { type: "string" },
          value: { type: "integer" },
          tags: { type: "array", items: { type: "string" }, "x-kubernetes-patch-strategy": "merge" },
        },
      },
    },
    keyless: { type: "array", items: anything, "x-kubernetes-patch-strategy": "merge" },
  },
};

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member);
    Object.freeze(value);
  }
  return value;
}

const apply = (document: JsonObject, patch: JsonObject) =>
  applyStrategicMergePatch(deepFreeze(document), deepFreeze(patch), schema);

const abc = [
  { name: "a", value: 1 },
  { name: "b", value: 2 },
  { name: "c", value: 3 },
];

describe("applyStrategicMergePatch", () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["sets, adds and removes members", { name: "x", value: 1 }, { value: null, other: 2 }, { name: "x", other: 2 }],
    ["ignores nulls of what is absent", {}, { name: null, simpleMap: { a: null, b: "1" } }, { simpleMap: { b: "1" } }],
    [
      "merges maps",
      { simpleMap: { a: "1", b: "2" } },
      { simpleMap: { b: null, c: "3" } },
      { simpleMap: { a: "1", c: "3" } },
    ],
    ["replaces a map by strategy", { replacedMap: { a: 1 } }, { replacedMap: { b: 2 } }, { replacedMap: { b: 2 } }],
    [
      "replaces a map by directive",
      { simpleMap: { a: "1" } },
      { simpleMap: { $patch: "replace", b: "2" } },
      { simpleMap: { b: "2" } },
    ],
    ["empties a map by directive", { simpleMap: { a: "1" } }, { simpleMap: { $patch: "delete" } }, { simpleMap: {} }],
    ["empties the document by directive", { name: "x" }, { $patch: "delete" }, {}],
    ["replaces an atomic list", { atomic: ["a", "b"] }, { atomic: ["c"] }, { atomic: ["c"] }],
    ["replaces a list that the schema does not know", { unknown: [1] }, { unknown: [2] }, { unknown: [2] }],
    ["replaces a value of another type", { value: { a: 1 } }, { value: [1] }, { value: [1] }],
    [
      "unites lists of scalars",
      { finalizers: ["a", "b"] },
      { finalizers: ["c", "a"] },
      { finalizers: ["c", "a", "b"] },
    ],
    [
      "deletes from a list of scalars",
      { finalizers: ["a", "b", "c"] },
      { "$deleteFromPrimitiveList/finalizers": ["b", "x"] },
      { finalizers: ["a", "c"] },
    ],
    ["deletes nothing from an absent list", {}, { "$deleteFromPrimitiveList/finalizers": ["b"] }, {}],
    [
      "merges list elements by key",
      { list: abc },
      {
        list: [
          { name: "b", value: 9 },
          { name: "d", value: 4 },
        ],
      },
      {
        list: [
          { name: "a", value: 1 },
          { name: "b", value: 9 },
          { name: "d", value: 4 },
          { name: "c", value: 3 },
        ],
      },
    ],
    [
      "removes members of an element",
      { list: abc },
      { list: [{ name: "a", value: null }] },
      { list: [{ name: "a" }, abc[1]!, abc[2]!] },
    ],
    ["deletes an element", { list: abc }, { list: [{ name: "b", $patch: "delete" }] }, { list: [abc[0]!, abc[2]!] }],
    [
      "replaces a list by directive",
      { list: abc },
      { list: [{ $patch: "replace" }, { name: "z" }] },
      { list: [{ name: "z" }] },
    ],
    [
      "merges lists within elements",
      { list: [{ name: "a", tags: ["x"] }] },
      { list: [{ name: "a", tags: ["y"] }] },
      { list: [{ name: "a", tags: ["y", "x"] }] },
    ],
    [
      "orders a list of scalars",
      { finalizers: ["a", "b", "c"] },
      { "$setElementOrder/finalizers": ["c", "a", "d"], finalizers: ["d"] },
      { finalizers: ["b", "c", "a", "d"] },
    ],
    [
      "orders a list of objects",
      { list: abc },
      { "$setElementOrder/list": [{ name: "c" }, { name: "a" }] },
      { list: [abc[1]!, abc[2]!, abc[0]!] },
    ],
    [
      "orders while it deletes and adds",
      { list: abc },
      {
        "$setElementOrder/list": [{ name: "d" }, { name: "a" }],
        list: [{ name: "b", $patch: "delete" }, { name: "d" }],
      },
      { list: [{ name: "d" }, abc[0]!, abc[2]!] },
    ],
    [
      "drops directives of what is new",
      {},
      {
        list: [
          { name: "a", $patch: "delete" },
          { name: "b", value: null },
        ],
        "$setElementOrder/list": [{ name: "b" }],
      },
      { list: [{ name: "b" }] },
    ],
    [
      "retains only the listed members",
      { union: { type: "A", a: 1 } },
      { union: { $retainKeys: ["type", "b"], type: "B", b: 2 } },
      { union: { type: "B", b: 2 } },
    ],
  ])("%s", (_, document, patch, expected) => {
    expect(apply(document, patch)).toEqual(expected);
  });

  it.each<[string, JsonObject, JsonObject, string]>([
    [
      "an unknown directive",
      { simpleMap: { a: "1" } },
      { simpleMap: { $patch: "bogus" } },
      "unknown patch type: bogus",
    ],
    [
      "a directive that is no text",
      { simpleMap: { a: "1" } },
      { simpleMap: { $patch: { toString: 1, valueOf: 1 } } },
      'unknown patch type: {"toString":1,"valueOf":1}',
    ],
    ["an unknown directive in a list", { list: abc }, { list: [{ name: "a", $patch: "x" }] }, "unknown patch type: x"],
    [
      "a merge directive in a list",
      { list: abc },
      { list: [{ $patch: "merge" }] },
      "merging lists cannot yet be specified",
    ],
    [
      "an element without its key",
      { list: abc },
      { list: [{ value: 1 }] },
      "does not contain declared merge key: name",
    ],
    [
      "a list without merge key",
      { keyless: [{ a: 1 }] },
      { keyless: [{ a: 2 }] },
      "cannot merge lists without merge key",
    ],
    ["a mixed list", { list: abc }, { list: ["a"] }, "list element types are not identical"],
    ["a member outside $retainKeys", { union: { a: 1 } }, { union: { $retainKeys: ["a"], b: 2 } }, "retainKeys"],
    ["a $retainKeys that is no list", { union: { a: 1 } }, { union: { $retainKeys: "a" } }, "retainKeys"],
    [
      "an order that the list does not follow",
      { finalizers: ["a"] },
      { "$setElementOrder/finalizers": ["a", "b"], finalizers: ["b", "a"] },
      "doesn't match $setElementOrder list",
    ],
    ["a null for an ordered list", { list: abc }, { "$setElementOrder/list": [], list: null }, "expected a list"],
    ["an order that is no list", { list: abc }, { "$setElementOrder/list": "a" }, "setElementOrder"],
  ])("refuses %s", (_, document, patch, message) => {
    expect(() => apply(document, patch)).toThrow(expect.objectContaining({ name: "StrategicMergePatchError" }));
    expect(() => apply(document, patch)).toThrow(message);
  });

  it.each<[string, (names: readonly string[], element: (name: string) => JsonObject) => JsonObject]>([
    ["merges", (names, element) => ({ list: names.map(element) })],
    ["deletes", (names) => ({ list: names.map((name) => ({ name, $patch: "delete" })) })],
    ["adds", (names, element) => ({ list: names.map((name) => element(`${name}-new`)) })],
    [
      "orders",
      (names, element) => ({ "$setElementOrder/list": names.map((name) => ({ name })), list: names.map(element) }),
    ],
  ])("looks at each element a few times when it %s as many as there are", (_, patchOf) => {
    let reads = 0;
    const counted = (name: string): JsonObject => ({
      get name() {
        reads++;
        return name;
      },
    });
    const names = Array.from({ length: 1_000 }, (_, index) => `element-${index}`);
    apply({ list: names.map(counted) }, patchOf(names.toReversed(), counted));
    expect(reads).toBeLessThan(names.length * 20);
  });

  it("keeps __proto__ an ordinary member", () => {
    const patch = parseJson('{"simpleMap":{"__proto__":{"polluted":1}},"new":{"__proto__":{"x":1}}}') as JsonObject;
    expect(stringifyJson(apply({ simpleMap: {} }, patch))).toBe(stringifyJson(patch));
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
