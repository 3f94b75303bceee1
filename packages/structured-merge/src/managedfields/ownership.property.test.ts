// Random writes by random managers, against what ownership promises. A failing run prints its seed.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EMPTY_FIELD_SET,
  equalFieldSets,
  type FieldSet,
  hasPath,
  isEmptyFieldSet,
  leaves,
  pathsOf,
} from "../fieldpath/field-set.ts";
import { parseFieldsV1, toFieldsV1 } from "../fieldpath/fields-v1.ts";
import { type FieldPath, formatFieldPath } from "../fieldpath/path-element.ts";
import { typedSchemaFrom } from "../typed/schema-from-structural.ts";
import { toFieldSet } from "../typed/to-field-set.ts";
import { MergeConflictError } from "./merge-conflict-error.ts";
import { createMergeUpdater } from "./merge-updater.ts";
import type { Owners } from "./versioned-set.ts";

const schema = typedSchemaFrom({
  type: "object",
  properties: {
    user: { type: "string" },
    ttl: { type: "integer" },
    struct: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    atomic: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: { type: "string" } },
    tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    groups: { type: "array", items: { type: "string" } },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: { type: "object", properties: { name: { type: "string" }, port: { type: "integer" } } },
    },
    free: { "x-kubernetes-preserve-unknown-fields": true },
  },
});

const updater = createMergeUpdater({ schema });

const word = fc.constantFrom("a", "b", "c");
const dictionary = fc.dictionary(word, word, { maxKeys: 2 });

/** No empty containers: what they come back as is upstream's own business, and in its vectors. */
const filled = <T>(arbitrary: fc.Arbitrary<T>) => arbitrary.filter((value) => Object.keys(value as object).length > 0);

const objects: fc.Arbitrary<JsonValue> = fc
  .record(
    {
      user: word,
      ttl: fc.integer({ min: 0, max: 3 }),
      struct: filled(fc.record({ a: word, b: word }, { requiredKeys: [] })),
      labels: filled(dictionary),
      atomic: filled(dictionary),
      tags: filled(fc.uniqueArray(word)),
      groups: filled(fc.array(word, { maxLength: 2 })),
      ports: filled(
        fc.uniqueArray(fc.record({ name: word, port: fc.integer({ min: 1, max: 2 }) }, { requiredKeys: ["name"] }), {
          selector: ({ name }) => name,
        }),
      ),
      free: filled(fc.dictionary(word, filled(dictionary), { maxKeys: 2 })),
    },
    { requiredKeys: [] },
  )
  .map((object) => JSON.parse(JSON.stringify(object)));

const managers = fc.constantFrom("one", "two", "three");

const writes = fc.array(
  fc.oneof(
    fc.record({ op: fc.constant("apply" as const), manager: managers, object: objects, force: fc.boolean() }),
    fc.record({ op: fc.constant("update" as const), manager: managers, object: objects }),
  ),
  { minLength: 1, maxLength: 8 },
);

type State = { live: JsonValue; owners: Owners };

const START: State = { live: {}, owners: new Map() };

const applyTo = ({ live, owners }: State, manager: string, applied: JsonValue, force: boolean): State => {
  const result = updater.apply({ live, applied, owners, manager: `apply ${manager}`, apiVersion: "v1", force });
  return { live: result.object === undefined ? live : result.object, owners: result.owners };
};

function run(state: State, write: typeof writes extends fc.Arbitrary<(infer W)[]> ? W : never): State {
  const { live, owners } = state;
  if (write.op === "update") {
    const manager = `update ${write.manager}`;
    return {
      live: write.object,
      owners: updater.update({ live, next: write.object, owners, manager, apiVersion: "v1" }),
    };
  }
  try {
    return applyTo(state, write.manager, write.object, write.force);
  } catch (error) {
    if (error instanceof MergeConflictError && !write.force) return state;
    throw error;
  }
}

const setOf = (owners: Owners, id: string): FieldSet => owners.get(id)?.set ?? EMPTY_FIELD_SET;

/** The value that a path leads to; undefined where there is none. */
function valueAt(value: JsonValue, path: FieldPath): JsonValue | undefined {
  let node: JsonValue | undefined = value;
  for (const element of path) {
    const rest = element.slice(2);
    if (element.startsWith("f:")) node = isJsonObject(node) ? node[rest] : undefined;
    else if (!isJsonArray(node)) return undefined;
    else if (element.startsWith("v:")) node = node.find((item) => equalJson(item, JSON.parse(rest)));
    else {
      const keys = JSON.parse(rest);
      node = node.find((item) => isJsonObject(item) && Object.keys(keys).every((name) => item[name] === keys[name]));
    }
  }
  return node;
}

describe("ownership", () => {
  const afterWrites = (check: (state: State) => void) =>
    fc.assert(
      fc.property(writes, (sequence) => check(sequence.reduce(run, START))),
      { numRuns: 300 },
    );

  it("is only ever of fields that exist, and never empty", () => {
    afterWrites(({ live, owners }) => {
      for (const [id, { set }] of owners) {
        expect(isEmptyFieldSet(set)).toBe(false);
        for (const path of pathsOf(set)) {
          expect(valueAt(live, path), `${id} owns ${formatFieldPath(path)}`).not.toBe(undefined);
        }
      }
    });
  });

  it("survives being written as FieldsV1 and read again", () => {
    afterWrites(({ owners }) => {
      for (const { set } of owners.values()) {
        expect(equalFieldSets(parseFieldsV1(JSON.parse(JSON.stringify(toFieldsV1(set)))), set)).toBe(true);
      }
    });
  });

  it("does not change when the same is applied again", () => {
    fc.assert(
      fc.property(writes, managers, objects, (sequence, manager, object) => {
        const once = applyTo(sequence.reduce(run, START), manager, object, true);
        const again = updater.apply({
          live: once.live,
          applied: object,
          owners: once.owners,
          manager: `apply ${manager}`,
          apiVersion: "v1",
          force: false,
        });
        expect(again.object).toBe(undefined);
        expect([...again.owners]).toEqual([...once.owners]);
      }),
      { numRuns: 300 },
    );
  });

  it("is what was applied, for an applier, whatever was there before", () => {
    fc.assert(
      fc.property(writes, managers, objects, (sequence, manager, object) => {
        const { live, owners } = applyTo(sequence.reduce(run, START), manager, object, true);
        const applied = toFieldSet(object, schema);
        expect(equalFieldSets(setOf(owners, `apply ${manager}`), applied)).toBe(true);
        for (const path of pathsOf(applied)) expect(valueAt(live, path)).not.toBe(undefined);
      }),
      { numRuns: 300 },
    );
  });

  it("keeps a given up leaf exactly when others own it, and own the items that it is in", () => {
    fc.assert(
      fc.property(writes, managers, objects, (sequence, manager, object) => {
        const before = applyTo(sequence.reduce(run, START), manager, object, true);
        const after = applyTo(before, manager, {}, true);
        const last = setOf(before.owners, `apply ${manager}`);
        const others = [...before.owners].filter(([id]) => id !== `apply ${manager}`);
        const isKept = (path: FieldPath) => !hasPath(last, path) || others.some(([, { set }]) => hasPath(set, path));
        for (const path of pathsOf(leaves(last))) {
          const expected = path.every((_, depth) => isKept(path.slice(0, depth + 1)));
          expect(valueAt(after.live, path) !== undefined, formatFieldPath(path)).toBe(expected);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("never conflicts between appliers of disjoint fields", () => {
    fc.assert(
      fc.property(objects, objects, (one, two) => {
        const shared = new Set(Object.keys(one as object));
        const disjoint = Object.fromEntries(Object.entries(two as object).filter(([name]) => !shared.has(name)));
        const first = applyTo(START, "one", one, false);
        const both = applyTo(first, "two", disjoint, false);
        expect(both.live).toEqual({ ...(one as object), ...disjoint });
        expect(setOf(both.owners, "apply one")).toEqual(setOf(first.owners, "apply one"));
      }),
      { numRuns: 300 },
    );
  });

  it("conflicts only with others, and never by force", () => {
    fc.assert(
      fc.property(writes, managers, objects, (sequence, manager, object) => {
        const state = sequence.reduce(run, START);
        try {
          applyTo(state, manager, object, false);
        } catch (error) {
          if (!(error instanceof MergeConflictError)) throw error;
          expect(error.conflicts.map((conflict) => conflict.manager)).not.toContain(`apply ${manager}`);
        }
        expect(() => applyTo(state, manager, object, true)).not.toThrow();
      }),
      { numRuns: 300 },
    );
  });
});
