// Random writes by several managers against a model that knows nothing of trees or schemas: an object is a table of what stands at
// which path, and ownership a list of paths for each manager. A failing run prints its seed.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pathsOf } from "../fieldpath/field-set.ts";
import { type FieldPath, formatFieldPath } from "../fieldpath/path-element.ts";
import { typedSchemaFrom } from "../typed/schema-from-structural.ts";
import { MergeConflictError } from "./merge-conflict-error.ts";
import { createMergeUpdater } from "./merge-updater.ts";
import type { Owners } from "./versioned-set.ts";

const port = {
  type: "object",
  properties: {
    name: { type: "string" },
    number: { type: "integer" },
    flags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
  },
} as const;

const schema = typedSchemaFrom({
  type: "object",
  properties: {
    user: { type: "string" },
    struct: { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
    labels: { type: "object", additionalProperties: { type: "string" } },
    atomicMap: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: { type: "string" } },
    atomicList: { type: "array", items: { type: "string" } },
    set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    ports: { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], items: port },
  },
});

const word = fc.constantFrom("a", "b", "c");
/** Nothing is empty: what an empty container comes back as has vectors of its own. */
const some = <T extends object>(arbitrary: fc.Arbitrary<T>) =>
  arbitrary.filter((value) => Object.keys(value).length > 0);
const strings = some(fc.dictionary(word, word, { maxKeys: 2 }));
const words = some(fc.uniqueArray(word));

const objects: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      user: word,
      struct: some(fc.record({ a: word, b: word }, { requiredKeys: [] })),
      labels: strings,
      atomicMap: strings,
      atomicList: some(fc.array(word, { maxLength: 2 })),
      set: words,
      ports: some(
        fc.uniqueArray(
          fc.record({ name: word, number: fc.integer({ min: 1, max: 2 }), flags: words }, { requiredKeys: ["name"] }),
          { selector: ({ name }) => name, maxLength: 2 },
        ),
      ),
    },
    { requiredKeys: [] },
  )
  .map((object) => JSON.parse(JSON.stringify(object)));

const managers = fc.constantFrom("one", "two", "three", "four");
const writes = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("apply" as const),
      manager: managers,
      object: objects,
      force: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("update" as const),
      manager: managers,
      object: objects,
      force: fc.constant(false),
    }),
  },
);
type Write = typeof writes extends fc.Arbitrary<infer W> ? W : never;

/** Value at each path that can be owned by itself, as JSON text; an item of a list is its own value. */
type Table = Map<string, string>;
const ITEM = "item";

function tableOf(object: JsonObject): Table {
  const table: Table = new Map();
  const { user, struct, labels, atomicMap, atomicList, set, ports } = object;
  const put = (path: string, value: JsonValue | undefined) => {
    const sorted = isJsonObject(value) ? Object.fromEntries(Object.entries(value).toSorted()) : value;
    if (sorted !== undefined) table.set(path, JSON.stringify(sorted));
  };
  const putMembers = (path: string, map: JsonValue | undefined) => {
    for (const [name, value] of Object.entries(isJsonObject(map) ? map : {})) put(`${path}.${name}`, value);
  };
  const putItems = (path: string, list: JsonValue | undefined) => {
    for (const item of isJsonArray(list) ? list : []) table.set(`${path}[=${JSON.stringify(item)}]`, ITEM);
  };
  put(".user", user);
  putMembers(".struct", struct);
  putMembers(".labels", labels);
  put(".atomicMap", atomicMap);
  put(".atomicList", atomicList);
  putItems(".set", set);
  for (const item of isJsonArray(ports) ? ports : []) {
    if (!isJsonObject(item)) continue;
    const path = `.ports[name=${JSON.stringify(item["name"])}]`;
    table.set(path, ITEM);
    put(`${path}.name`, item["name"]);
    put(`${path}.number`, item["number"]);
    putItems(`${path}.flags`, item["flags"]);
  }
  return table;
}

/** The item of a list of maps that a path leads into; undefined for a path outside of them. */
const itemOf = (path: string): string | undefined => /^\.ports\[name="."\](?=[.[])/.exec(path)?.[0];

type Model = { readonly live: Table; readonly owned: Map<string, Set<string>> };
type ModelConflict = string;

const NOTHING: ReadonlySet<string> = new Set();

function modelApply({ live, owned }: Model, id: string, applied: Table, force: boolean): Model | ModelConflict[] {
  const conflicts = [...owned].flatMap(([other, paths]) =>
    other === id
      ? []
      : [...paths]
          .filter((path) => applied.has(path) && live.get(path) !== applied.get(path))
          .map((path) => ({ other, path })),
  );
  if (conflicts.length > 0 && !force) return conflicts.map(({ other, path }) => `${other} ${path}`);
  const next = new Map([...owned].map(([manager, paths]) => [manager, new Set(paths)]));
  for (const { other, path } of conflicts) next.get(other)?.delete(path);
  const merged: Table = new Map([...live, ...applied]);
  const others = [...next].filter(([manager]) => manager !== id).map(([, paths]) => paths);
  const isGivenUp = (path: string) =>
    (owned.get(id) ?? NOTHING).has(path) && !applied.has(path) && !others.some((paths) => paths.has(path));
  for (const path of [...merged.keys()]) {
    const item = itemOf(path);
    // An item goes with all of its members, no matter which manager set them.
    if (isGivenUp(path) || (item !== undefined && isGivenUp(item))) merged.delete(path);
  }
  next.set(id, new Set(applied.keys()));
  return tidy({ live: merged, owned: next });
}

function modelUpdate({ live, owned }: Model, id: string, updated: Table): Model {
  const changed = (path: string) => live.get(path) !== updated.get(path);
  const next = new Map(
    [...owned].map(([manager, paths]) => [manager, new Set([...paths].filter((path) => !changed(path)))]),
  );
  const mine = new Set(owned.get(id));
  for (const path of new Set([...live.keys(), ...updated.keys()]))
    if (changed(path) && updated.has(path)) mine.add(path);
  next.set(id, mine);
  return tidy({ live: updated, owned: next });
}

/** Absent fields have no owner, and owners without fields are dropped. */
function tidy({ live, owned }: Model): Model {
  const rest = [...owned].map(([id, paths]) => [id, new Set([...paths].filter((path) => live.has(path)))] as const);
  return { live, owned: new Map(rest.filter(([, paths]) => paths.size > 0)) };
}

const updater = createMergeUpdater({ schema });
type State = { readonly live: JsonObject; readonly owners: Owners; readonly model: Model };
const START: State = { live: {}, owners: new Map(), model: { live: new Map(), owned: new Map() } };

const idOf = ({ kind, manager }: Write): string => `${kind} ${manager}`;

function step(state: State, write: Write): State {
  const { live, owners, model } = state;
  const id = idOf(write);
  if (write.kind === "update") {
    const next = updater.update({ live, next: write.object, owners, manager: id, apiVersion: "v1" });
    return { live: write.object, owners: next, model: modelUpdate(model, id, tableOf(write.object)) };
  }
  const expected = modelApply(model, id, tableOf(write.object), write.force);
  try {
    const { force, object: applied } = write;
    const result = updater.apply({ live, applied, owners, manager: id, apiVersion: "v1", force });
    if (isJsonArray(expected as never)) throw new Error(`no conflict, where the model has ${JSON.stringify(expected)}`);
    // Undefined is no change; an object of which nothing is left comes back as null.
    const object = result.object === undefined ? live : result.object;
    return { live: isJsonObject(object) ? object : {}, owners: result.owners, model: expected as Model };
  } catch (error) {
    if (!(error instanceof MergeConflictError)) throw error;
    const found = error.named().map(({ manager, path }) => `${manager} ${formatFieldPath(path)}`);
    expect(found.toSorted()).toEqual([...(expected as ModelConflict[])].toSorted());
    return state;
  }
}

/** Only paths that the model has: containers are owned beside what is in them, by updaters. */
const ownedPaths = (owners: Owners, live: Table): { readonly [id: string]: readonly string[] } => {
  const entries = [...owners].map(
    ([id, { set }]) =>
      [
        id,
        pathsOf(set)
          .map((path: FieldPath) => formatFieldPath(path))
          .filter((path) => live.has(path))
          .toSorted(),
      ] as const,
  );
  return Object.fromEntries(entries.filter(([, paths]) => paths.length > 0));
};

function check({ live, owners, model }: State): void {
  expect(Object.fromEntries([...tableOf(live)].toSorted())).toEqual(Object.fromEntries([...model.live].toSorted()));
  const expected = [...model.owned].map(([id, paths]) => [id, [...paths].toSorted()] as const);
  expect(ownedPaths(owners, model.live)).toEqual(Object.fromEntries(expected));
}

describe("ownership beside a table of paths", () => {
  it("is the same after every write of long histories, of appliers and updaters, on every kind of list", () => {
    let applied = 0;
    fc.assert(
      fc.property(fc.array(writes, { minLength: 10, maxLength: 40, size: "max" }), (history) => {
        let state = START;
        for (const write of history) {
          state = step(state, write);
          check(state);
          applied++;
        }
      }),
      { numRuns: 160 },
    );
    expect(applied).toBeGreaterThan(3_000);
  }, 120_000);
});
