// Vectors: outputs of github.com/evanphx/json-patch v4.12.0 on the inputs of its merge_test.go and further ones.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { equalJson } from "../json/equal-json.ts";
import type { JsonValue } from "../json/json-value.ts";
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

  it("undoes what createMergePatch saw, for documents without nulls", () => {
    const tree = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.array(fc.integer(), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), tie("value"), { noNullPrototype: true }),
      ),
    })).value;
    const object = fc.dictionary(fc.constantFrom("a", "b", "c"), tree, { noNullPrototype: true });
    fc.assert(
      fc.property(object, object, (original, modified) =>
        equalJson(applyMergePatch(original, createMergePatch(original, modified)), modified),
      ),
      { numRuns: 1000 },
    );
  });
});
