// Vectors: outputs of github.com/evanphx/json-patch v4.12.0 on the inputs of its merge_test.go and further ones.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { equalJson } from "../json/equal-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { createMergePatch } from "./create-merge-patch.ts";
import { applyMergePatch, decodeMergePatch } from "./merge-patch.ts";
import diffVectors from "./testdata/create-merge-patch.json" with { type: "json" };
import vectors from "./testdata/merge-patch.json" with { type: "json" };

type Outcome = { ok: boolean; result?: JsonValue };
type Case = { id: string; doc: JsonValue; patch?: JsonValue; patchText?: string; k8s: Outcome };
type DiffCase = { id: string; original: JsonValue; modified: JsonValue; k8s: Outcome };

describe("upstream vectors", () => {
  const cases = vectors.cases as Case[];
  it.each(cases)("$id $patch", ({ doc, patch, patchText, k8s }) => {
    const text = patchText ?? stringifyJson(patch ?? null);
    if (k8s.ok) expect(applyMergePatch(doc, parseJson(text))).toEqual(k8s.result);
    else expect(() => decodeMergePatch(text)).toThrow();
  });

  it.each(diffVectors.cases as DiffCase[])("$id diff", ({ original, modified, k8s }) => {
    if (k8s.ok) expect(createMergePatch(original, modified)).toEqual(k8s.result);
    else expect(() => createMergePatch(original, modified)).toThrow();
  });
});

describe("decodeMergePatch", () => {
  it.each([
    ["[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"],
    ["null", "Invalid JSON Patch"],
    ["", "error decoding patch: unexpected end of JSON input"],
  ])("refuses %j: %s", (text, message) => {
    expect(() => decodeMergePatch(text)).toThrow(expect.objectContaining({ name: "PatchDecodeError", message }));
  });
});

describe("applyMergePatch", () => {
  it("keeps __proto__ an ordinary member", () => {
    const merged = applyMergePatch({ a: {} }, parseJson('{"a":{"__proto__":{"polluted":1}},"constructor":{"x":1}}'));
    expect(stringifyJson(merged)).toBe('{"a":{"__proto__":{"polluted":1}},"constructor":{"x":1}}');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(({}.constructor as { x?: unknown }).x).toBeUndefined();
  });

  const objectsOf = (...leaves: fc.Arbitrary<JsonValue>[]): fc.Arbitrary<JsonObject> => {
    const tree = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        ...leaves,
        fc.array(fc.integer(), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), tie("value"), { noNullPrototype: true }),
      ),
    })).value;
    return fc.dictionary(fc.constantFrom("a", "b", "c"), tree, { noNullPrototype: true });
  };

  it("undoes what createMergePatch saw, for documents without nulls", () => {
    const object = objectsOf(fc.string(), fc.integer(), fc.boolean());
    fc.assert(
      fc.property(object, object, (original, modified) =>
        equalJson(applyMergePatch(original, createMergePatch(original, modified)), modified),
      ),
      { numRuns: 1000 },
    );
  });

  it("changes neither the document nor the patch, and copies only what has another value", () => {
    const object = objectsOf(fc.constantFrom("x", "y"), fc.constantFrom(1, 2n), fc.constant(null));
    let same = 0;
    fc.assert(
      fc.property(object, object, (document, patch) => {
        const merged = applyMergePatch(frozen(document), frozen(patch));
        if (!equalJson(merged, document) || hasList(patch)) return;
        same++;
        expect(merged).toBe(document);
      }),
      { numRuns: 2000 },
    );
    expect(same).toBeGreaterThan(100);
    const [spec, status] = [{ a: 1 }, { b: { c: 1 } }];
    const merged = applyMergePatch({ spec, status }, { spec: { a: 1 }, status: { b: { d: 2 } } }) as JsonObject;
    expect(merged).toEqual({ spec: { a: 1 }, status: { b: { c: 1, d: 2 } } });
    expect(merged["spec"]).toBe(spec);
  });
});

function frozen<T extends JsonValue>(value: T): T {
  if (typeof value === "object" && value !== null)
    for (const member of Object.values(Object.freeze(value))) frozen(member);
  return value;
}

/** It takes the place of what was there, even of an equal one. */
const hasList = (value: JsonValue): boolean =>
  Array.isArray(value) || (isJsonObject(value) && Object.values(value).some((member) => hasList(member ?? null)));
