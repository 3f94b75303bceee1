// Vectors: outputs of github.com/evanphx/json-patch v4.12.0 on its own tests and on those of json-patch-tests (RFC 6902).
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { equalJson } from "../json/equal-json.ts";
import type { JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { applyJsonPatch, applyJsonPatchInSteps } from "./apply-json-patch.ts";
import { decodeJsonPatch, type JsonPatchOperation } from "./decode-json-patch.ts";
import vectors from "./testdata/json-patch.json" with { type: "json" };

type Case = {
  id: string;
  doc: JsonValue;
  patch: JsonValue;
  k8s: { ok: boolean; result?: JsonValue; error?: string };
  rfcAndK8sAgree?: boolean;
};
const cases = vectors.cases as Case[];

/** The patch is no list of operations: refused when decoded, before it could be applied. */
const UNDECODABLE = "01-json-patch-0219";

/** Where upstream departs from RFC 6902; we follow upstream, so that a patch gives the same object on both servers. */
const RFC_DEVIATIONS: { readonly [id: string]: string } = {
  "01-json-patch-0072": "the document must be an object or an array",
  "01-json-patch-0073": "add cannot replace the whole document",
  "01-json-patch-0074": "add cannot replace the whole document",
  "01-json-patch-0081": "negative indices count from the end",
  "01-json-patch-0138": "an absent value is null",
  "01-json-patch-0145": "the last of duplicate members wins",
};

const apply = (doc: JsonValue, patch: JsonValue): JsonValue =>
  applyJsonPatch(doc, decodeJsonPatch(stringifyJson(patch)).operations);

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const member of Object.values(value)) deepFreeze(member);
    Object.freeze(value);
  }
  return value;
}

afterEach(() => {
  expect(Object.keys(Object.prototype)).toEqual([]);
});

describe("upstream vectors", () => {
  it.each(cases.filter(({ id }) => id !== UNDECODABLE))("$id $patch", ({ doc, patch, k8s }) => {
    deepFreeze(doc);
    if (k8s.ok) expect(apply(doc, patch)).toEqual(k8s.result);
    else
      expect(() => apply(doc, patch)).toThrow(expect.objectContaining({ name: "JsonPatchError", message: k8s.error }));
  });

  it("depart from RFC 6902 only where it is known why", () => {
    const departing = cases.filter(({ rfcAndK8sAgree }) => rfcAndK8sAgree === false).map(({ id }) => id);
    expect(departing.sort()).toEqual(Object.keys(RFC_DEVIATIONS).sort());
  });
});

describe("applyJsonPatch", () => {
  it.each<[string, JsonValue, JsonPatchOperation[], JsonValue]>([
    ["replaces an absent member", {}, [{ op: "replace", path: "/a", value: 1 }], { a: 1 }],
    ["drops the first segment of a path without a slash", { user: 1 }, [{ op: "remove", path: "spec/user" }], {}],
    ["counts from the end", { a: [1, 2] }, [{ op: "replace", path: "/a/-1", value: 3 }], { a: [1, 3] }],
    ["copies an absent member as null", { a: {} }, [{ op: "copy", from: "/a/x", path: "/b" }], { a: {}, b: null }],
    ["takes an absent member for null in test", {}, [{ op: "test", path: "/a" }], {}],
    ["takes a signed index", [1, 2], [{ op: "remove", path: "/+1" }], [1]],
    ["works on the empty member name", { "": 1 }, [{ op: "replace", path: "/", value: 2 }], { "": 2 }],
  ])("%s", (_, doc, patch, expected) => {
    expect(applyJsonPatch(doc, patch)).toEqual(expected);
  });

  it.each<[string, JsonValue, JsonPatchOperation[]]>([
    ["a path through a scalar", { a: "text" }, [{ op: "replace", path: "/a/length", value: 1 }]],
    ["a path through null", { a: null }, [{ op: "add", path: "/a/b", value: 1 }]],
    ["a path through the prototype", {}, [{ op: "add", path: "/constructor/prototype/x", value: 1 }]],
    ["a path through __proto__", {}, [{ op: "add", path: "/__proto__/polluted", value: 1 }]],
    ["removal of what only the prototype has", {}, [{ op: "remove", path: "/toString" }]],
    ["an index below the first", [1], [{ op: "remove", path: "/-2" }]],
    ["a scalar as whole document", {}, [{ op: "replace", path: "", value: "x" }]],
    ["removal of the whole document", {}, [{ op: "remove", path: "" }]],
  ])("refuses %s", (_, doc, patch) => {
    expect(() => applyJsonPatch(doc, patch)).toThrow(expect.objectContaining({ name: "JsonPatchError" }));
  });

  it("treats __proto__ as an ordinary member", () => {
    const patched = applyJsonPatch({ metadata: { labels: {} } }, [
      { op: "add", path: "/metadata/labels/__proto__", value: { polluted: true } },
      { op: "test", path: "/metadata/labels/__proto__/polluted", value: true },
    ]);
    expect(stringifyJson(patched)).toBe('{"metadata":{"labels":{"__proto__":{"polluted":true}}}}');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("keeps a copy apart from its original", () => {
    const patched = applyJsonPatch({ a: { x: [1] } }, [
      { op: "add", path: "/a/y", value: 1 },
      { op: "copy", from: "/a", path: "/b" },
      { op: "add", path: "/a/x/0", value: 0 },
      { op: "remove", path: "/b/y" },
    ]);
    expect(patched).toEqual({ a: { x: [0, 1], y: 1 }, b: { x: [1] } });
  });

  it("never changes a value of the patch that later operations reach", () => {
    const value = deepFreeze({ list: [1] });
    const patch = deepFreeze([
      { op: "add", path: "/a", value },
      { op: "add", path: "/a/list/-", value: 2 },
    ]);
    expect(applyJsonPatch({}, patch)).toEqual({ a: { list: [1, 2] } });
    expect(value).toEqual({ list: [1] });
  });

  it("stops copies that double", () => {
    const double: JsonPatchOperation[] = Array.from({ length: 60 }, () => ({ op: "copy", from: "", path: "/a/-" }));
    expect(() => applyJsonPatch({ a: ["x"] }, double)).toThrow("copy operation does not apply");
    const chain = Array.from({ length: 60 }, () => ({ op: "copy", from: "/a", path: "/a/-" }));
    expect(() => applyJsonPatch({ a: ["x"] }, chain)).toThrow("accumulated size increase");
    expect(() => applyJsonPatch({ a: "xxx" }, [{ op: "copy", from: "/a", path: "/b" }], { maxCopySize: 4 })).toThrow(
      "accumulated size increase",
    );
  });

  it("refuses to nest a document too deep", () => {
    const nest = (at: string): JsonPatchOperation[] => [
      { op: "add", path: "/b", value: {} },
      { op: "move", from: "/a", path: `/b/${at}` },
      { op: "move", from: "/b", path: "/a" },
    ];
    const deepen = (times: number) => Array.from({ length: times }, () => nest("x")).flat();
    expect(() => applyJsonPatch({ a: 1 }, deepen(900))).not.toThrow();
    const message = "the patched document exceeded max depth";
    expect(() => applyJsonPatch({ a: 1 }, deepen(1_100))).toThrow(message);
    const copied: JsonPatchOperation[] = [...deepen(100_000), { op: "copy", from: "/a", path: "/c" }];
    expect(() => applyJsonPatch({ a: 1 }, copied)).toThrow(message);
  });

  it("applies ten thousand insertions to a long list", () => {
    const patch = Array.from({ length: 10_000 }, (_, i) => ({ op: "add", path: "/a/0", value: i }));
    const doc = deepFreeze({ a: Array.from({ length: 100_000 }, (_, i) => i) });
    expect((applyJsonPatch(doc, patch) as { a: number[] }).a).toHaveLength(110_000);
  });

  it("answers any patch of any document with a document or a JsonPatchError, and changes neither", () => {
    const name = fc.constantFrom("a", "b", "0", "-", "-1", "__proto__", "constructor", "~0", "~1", "");
    const path = fc.array(name, { maxLength: 4 }).map((segments) => segments.map((s) => `/${s}`).join(""));
    const value = fc.jsonValue({ maxDepth: 2 });
    const operation = fc.record(
      { op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"), path, from: path, value },
      { requiredKeys: ["op"] },
    );
    const document = fc.dictionary(fc.constantFrom("a", "b", "0", "-1"), fc.jsonValue({ maxDepth: 3 }), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(document, fc.array(operation, { maxLength: 8 }), (doc, patch) => {
        deepFreeze(doc);
        deepFreeze(patch);
        try {
          // fast-check's JSON values are JsonValues.
          const patched = applyJsonPatch(doc as JsonValue, patch as JsonPatchOperation[]);
          expect(equalJson(JSON.parse(stringifyJson(patched)), patched)).toBe(true);
        } catch (error) {
          expect(error).toHaveProperty("name", "JsonPatchError");
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("test compares by value, where upstream compares the spelling", () => {
  const document = '{"number":1,"text":"A<b>","list":[1,{"a":null}]}';
  const tests = (operation: string) =>
    applyJsonPatch(parseJson(document), decodeJsonPatch(`[${operation}]`).operations) !== undefined;

  it.each([
    '{"op":"test","path":"/number","value":1.0}',
    '{"op":"test","path":"/number","value":1e0}',
    '{"op":"test","path":"/text","value":"\\u0041\\u003cb\\u003e"}',
    '{"op":"test","path":"/list","value":[1,{"a":null}]}',
    '{"op":"test","path":"/absent","value":null}',
  ])("%s", (operation) => {
    expect(tests(operation)).toBe(true);
  });

  it.each(['{"op":"test","path":"/number","value":"1"}', '{"op":"test","path":"/list","value":[1,{}]}'])(
    "%s fails",
    (operation) => {
      expect(() => tests(operation)).toThrow("failed: test failed");
    },
  );
});

describe("applyJsonPatchInSteps", () => {
  const stepsOf = (operations: readonly JsonPatchOperation[]): number => {
    const steps = applyJsonPatchInSteps({ a: {} }, operations);
    let count = 1;
    while (steps.next().done !== true) count++;
    return count;
  };
  const adds = (count: number, length: number): JsonPatchOperation[] =>
    Array.from({ length: count }, (_, index) => ({ op: "add", path: `/a/${"~1".repeat(length)}${index}`, value: 1 }));

  it("ends its turn after a hundred operations, and sooner with long paths", () => {
    const few = stepsOf(adds(100, 0));
    expect(stepsOf(adds(1_000, 0)) - few).toBeGreaterThanOrEqual(5);
    expect(stepsOf(adds(100, 20_000)) - few).toBeGreaterThanOrEqual(45);
  });
});
