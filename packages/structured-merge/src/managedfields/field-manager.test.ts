import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { describe, expect, it } from "vitest";
import { createFieldManager } from "./field-manager.ts";
import type { FieldManagerApply, FieldManagerUpdate } from "./field-manager-core.ts";
import { LAST_APPLIED_ANNOTATION } from "./last-applied.ts";
import schemas from "./testdata/schemas.json" with { type: "json" };

const apiVersion = "management.example.com/v1";
const fields = createFieldManager({
  schema: schemas.OwnedAccessKey as StructuralSchema,
  groupVersion: { group: "management.example.com", version: "v1" },
  hasStatus: true,
  untrackedPaths: [["spec", "key"]],
});

/** RFC 3339 times in order: `at(1)` is before `at(2)`. */
const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

const key = (spec: object | undefined, metadata: object = {}): KubeObject =>
  ({
    apiVersion,
    kind: "OwnedAccessKey",
    metadata: { name: "k", uid: "u", resourceVersion: "1", ...metadata },
    ...(spec === undefined ? {} : { spec }),
  }) as unknown as KubeObject;

const config = (spec: object | undefined, metadata: object = {}) =>
  key(spec, { uid: undefined, resourceVersion: undefined, ...metadata });

const create = (next: KubeObject, manager = "creator", second = 1) =>
  fields.update({ live: undefined, next, manager, now: at(second) });

const update = (live: KubeObject, change: object, options: Partial<FieldManagerUpdate> = {}) =>
  fields.update({ live, next: { ...live, ...change }, manager: "updater", now: at(2), ...options });

const apply = (live: KubeObject | undefined, applied: KubeObject, options: Partial<FieldManagerApply> = {}) =>
  fields.apply({ live, applied, manager: "applier", now: at(3), ...options });

/** `manager operation[/subresource] second` → fieldsV1. */
const managed = (object: KubeObject) =>
  object.metadata.managedFields?.map(
    ({ manager, operation, subresource, time, fieldsV1 }) =>
      [
        `${manager} ${operation}${subresource === undefined ? "" : `/${subresource}`} ${time?.slice(17, 19) ?? "-"}`,
        fieldsV1,
      ] as const,
  );

const refusal = (run: () => unknown): ApiError => {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("was not refused");
};

describe("field manager: updates", () => {
  it("records the creator as the owner of all it set, but of nothing that names the object", () => {
    const created = create(
      key({ user: "u" }, { generation: 1, creationTimestamp: at(0), labels: { a: "b" }, generateName: "k" }),
    );
    expect(managed(created)).toEqual([
      [
        "creator Update 01",
        {
          "f:metadata": { "f:generateName": {}, "f:labels": { ".": {}, "f:a": {} } },
          "f:spec": { ".": {}, "f:user": {} },
        },
      ],
    ]);
  });

  it("ignores managedFields that a create sends", () => {
    const sent = key({ user: "u" }, { managedFields: [{ manager: "forged", operation: "Apply" }] });
    expect(managed(create(sent))?.map(([id]) => id)).toEqual(["creator Update 01"]);
  });

  it("keeps every entry when a write changes nothing", () => {
    const live = create(key({ user: "u" }));
    expect(update(live, {}).metadata.managedFields).toEqual(live.metadata.managedFields);
  });

  it("moves a changed field to its new manager, and keeps the time of the others", () => {
    const live = create(key({ user: "u", ttl: 1 }));
    const changed = update(live, { spec: { user: "u", ttl: 2, disabled: true } });
    expect(managed(changed)).toEqual([
      ["creator Update 01", { "f:spec": { ".": {}, "f:user": {} } }],
      ["updater Update 02", { "f:spec": { "f:disabled": {}, "f:ttl": {} } }],
    ]);
  });

  it("takes a new time when a manager changes a field that it owned before", () => {
    const live = create(key({ ttl: 1 }), "m", 1);
    const changed = update(live, { spec: { ttl: 2 } }, { manager: "m" });
    expect(managed(changed)).toEqual([["m Update 02", { "f:spec": { ".": {}, "f:ttl": {} } }]]);
  });

  it("drops removed fields from all managers, and managers without fields", () => {
    const live = update(create(key({ user: "u" })), { spec: { user: "u", ttl: 2 } });
    expect(managed(update(live, { spec: { user: "u" } }, { manager: "third" }))?.map(([id]) => id)).toEqual([
      "creator Update 01",
    ]);
  });

  it("never tracks status on the main resource, and no spec on status", () => {
    const live = create({ ...key({ user: "u" }), status: { lastActivity: at(1) } });
    expect(managed(live)).toEqual([["creator Update 01", { "f:spec": { ".": {}, "f:user": {} } }]]);
    const change = { status: { lastActivity: at(2) }, spec: { user: "other" } };
    const next = { ...live, ...change, metadata: { ...live.metadata, labels: { a: "b" } } };
    expect(managed(update(live, next, { subresource: "status" }))).toEqual([
      ["creator Update 01", { "f:spec": { ".": {}, "f:user": {} } }],
      [
        "updater Update/status 02",
        { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } }, "f:status": { "f:lastActivity": {} } },
      ],
    ]);
  });

  it("never tracks the paths that the kind declares untracked", () => {
    expect(managed(create(key({ user: "u", key: "secret" })))).toEqual([
      ["creator Update 01", { "f:spec": { ".": {}, "f:user": {} } }],
    ]);
    expect(JSON.stringify(apply(undefined, config({ key: "secret" })).metadata)).not.toContain("f:key");
  });

  it.each([
    ["absent", undefined],
    ["null", null],
    ["an empty list", []],
    ["an entry with a bad operation", [{ manager: "m", operation: "Own", apiVersion, fieldsType: "FieldsV1" }]],
    ["an entry with a bad fieldsType", [{ manager: "m", operation: "Update", apiVersion, fieldsType: "FieldsV9" }]],
    ["an entry without a version", [{ manager: "m", operation: "Update", fieldsType: "FieldsV1", fieldsV1: {} }]],
    [
      "an entry with bad fields",
      [{ manager: "m", operation: "Update", apiVersion, fieldsType: "FieldsV1", fieldsV1: { x: {} } }],
    ],
    ["something else", "everything"],
  ])("keeps the stored managedFields when a client sends %s", (_, managedFields) => {
    const live = create(key({ user: "u" }));
    const next = { ...live, metadata: { ...live.metadata, managedFields } } as unknown as KubeObject;
    expect(update(live, next).metadata.managedFields).toEqual(live.metadata.managedFields);
  });

  it("drops all managedFields when a client sends [{}], and tracks updates no more", () => {
    const live = create(key({ user: "u" }));
    const reset = update(live, { metadata: { ...live.metadata, managedFields: [{}] } });
    expect("managedFields" in reset.metadata).toBe(false);
    expect("managedFields" in update(reset, { spec: { user: "v" } }).metadata).toBe(false);
  });

  it("takes over valid managedFields that a client writes, in canonical form", () => {
    const live = create(key({ user: "u", tags: ["a"] }));
    const entry = {
      manager: "new",
      operation: "Apply",
      apiVersion,
      time: "2026-01-01T02:00:09.5+02:00",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:user": {}, "f:tags": { 'v: "a"': {} } } },
    };
    const next = { ...live, metadata: { ...live.metadata, managedFields: [entry] } } as unknown as KubeObject;
    const written = update(live, next);
    expect(JSON.stringify(written.metadata.managedFields?.[0]?.fieldsV1)).toBe(
      '{"f:spec":{"f:tags":{"v:\\"a\\"":{}},"f:user":{}}}',
    );
    expect(managed(written)?.map(([id]) => id)).toEqual(["new Apply 09"]);
  });

  it("ignores managedFields sent through a subresource", () => {
    const live = create(key({ user: "u" }));
    const reset = update(live, { metadata: { ...live.metadata, managedFields: [{}] } }, { subresource: "status" });
    expect(reset.metadata.managedFields).toEqual(live.metadata.managedFields);
  });

  it("drops owners of versions that are not served", () => {
    const live = create(key({ user: "u" }));
    const [entry] = live.metadata.managedFields ?? [];
    const old = { ...entry, manager: "old", apiVersion: "management.example.com/v0" };
    const stored = { ...live, metadata: { ...live.metadata, managedFields: [entry, old] } } as KubeObject;
    expect(managed(update(stored, {}))?.map(([id]) => id)).toEqual(["creator Update 01"]);
  });

  it("tracks nothing of an object that does not fit its schema", () => {
    const live = create(key({ scope: { projects: [{ project: "p" }] } }));
    const misfit = update(live, { spec: { scope: { projects: [{ note: "no key" }] } } });
    expect("managedFields" in misfit.metadata).toBe(false);
  });

  it("tracks nothing of an object that is nested deeper than any schema, and refuses to apply it", () => {
    const schemaless = createFieldManager({ schema: undefined, groupVersion: { group: "", version: "v1" } });
    let data: object = {};
    for (let depth = 0; depth < 5000; depth++) data = { a: data };
    const object = { apiVersion: "v1", kind: "K", metadata: { name: "k" }, data } as unknown as KubeObject;
    const created = schemaless.update({ live: undefined, next: object, manager: "m", now: at(1) });
    expect("managedFields" in created.metadata).toBe(false);
    const error = refusal(() => schemaless.apply({ live: undefined, applied: object, manager: "m", now: at(1) }));
    expect(error.message).toMatch(/may nest 512 levels deep$/);
  });

  it("calls a nameless manager unknown", () => {
    expect(managed(create(key({ user: "u" }), ""))?.map(([id]) => id)).toEqual(["unknown Update 01"]);
  });
});

describe("field manager: apply", () => {
  it("sorts appliers first, then by time, then by name", () => {
    let object = create(key({ user: "u" }), "z", 5);
    object = update(object, { spec: { user: "u", ttl: 1 } }, { manager: "a", now: at(6) });
    object = update(object, { spec: { user: "u", ttl: 1, team: "t" } }, { manager: "b", now: at(5) });
    object = apply(object, config({ displayName: "d" }), { now: at(9) });
    expect(managed(object)?.map(([id]) => id)).toEqual([
      "applier Apply 09",
      "b Update 05",
      "z Update 05",
      "a Update 06",
    ]);
  });

  it("leaves the object and its times as they are when applied again", () => {
    const live = apply(undefined, config({ user: "u" }));
    expect(apply(live, config({ user: "u" }), { now: at(9) })).toEqual(live);
  });

  it("names every owner of a conflicting field, with version and subresource", () => {
    const live = update(create(key({ user: "u", displayName: "d" })), { spec: { user: "u", displayName: "e" } });
    const error = refusal(() => apply(live, config({ user: "x", displayName: "x" })));
    expect(error.toStatus()).toMatchObject({
      code: 409,
      reason: "Conflict",
      message:
        'Apply failed with 2 conflicts: conflicts with "creator" using management.example.com/v1:\n- .spec.user\n' +
        'conflicts with "updater" using management.example.com/v1:\n- .spec.displayName',
      details: {
        causes: [
          {
            reason: "FieldManagerConflict",
            message: 'conflict with "creator" using management.example.com/v1',
            field: ".spec.user",
          },
          {
            reason: "FieldManagerConflict",
            message: 'conflict with "updater" using management.example.com/v1',
            field: ".spec.displayName",
          },
        ],
      },
    });
    expect(error.details).toEqual({ causes: error.details?.causes });
  });

  it("takes conflicting fields by force, and drops managers without fields", () => {
    const live = apply(create(key({ ttl: 1 })), config({ user: "u" }), { manager: "loser" });
    const forced = apply(live, config({ user: "x", ttl: 2 }), { force: true, now: at(4) });
    expect(forced["spec"]).toEqual({ user: "x", ttl: 2 });
    expect(managed(forced)).toEqual([
      ["applier Apply 04", { "f:spec": { "f:ttl": {}, "f:user": {} } }],
      ["creator Update 01", { "f:spec": {} }],
    ]);
  });

  it("records what was there before the first apply, so that it can conflict", () => {
    const live = key({ user: "u" });
    expect(refusal(() => apply(live, config({ user: "x" }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using management.example.com/v1: .spec.user',
    );
    expect(managed(apply(live, config({ ttl: 1 })))).toEqual([
      ["applier Apply 03", { "f:spec": { "f:ttl": {} } }],
      ["before-first-apply Update 03", { "f:spec": { ".": {}, "f:user": {} } }],
    ]);
  });

  it("keeps an item that others own when its applier gives it up", () => {
    const first = apply(undefined, config({ tags: ["a", "b"] }), { manager: "one" });
    const both = apply(first, config({ tags: ["b", "c"] }), { manager: "two" });
    expect(apply(both, config({ tags: ["a"] }), { manager: "one" })["spec"]).toEqual({ tags: ["a", "b", "c"] });
  });

  it.each([
    ["an unknown field", { bogus: 1 }, ".spec.bogus: field not declared in schema"],
    ["a wrong scalar", { ttl: "x" }, ".spec.ttl: expected numeric (int or float), got string"],
    ["a duplicate in a set", { tags: ["x", "x"] }, '.spec.tags: duplicate entries for key [="x"]'],
    [
      "a list item without its key",
      { scope: { projects: [{ note: "n" }] } },
      '.spec.scope.projects: element 0: associative list with keys has an element that omits all key fields ["project"] (and doesn\'t have default values for any key fields)',
    ],
  ])("answers %s with a 500 that names it", (_, spec, fault) => {
    const error = refusal(() => apply(undefined, config(spec)));
    expect(error.toStatus()).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `failed to create typed patch object (/k; management.example.com/v1, Kind=OwnedAccessKey): ${fault}`,
      code: 500,
    });
  });

  it("names namespaced objects with their namespace", () => {
    const error = refusal(() => apply(undefined, config({ bogus: 1 }, { namespace: "ns" })));
    expect(error.message).toContain("(ns/k; management.example.com/v1, Kind=OwnedAccessKey)");
  });

  it.each([
    ["managedFields", config({}, { managedFields: [] }), "metadata.managedFields must be nil"],
    [
      "another version",
      { ...config({}), apiVersion: "management.example.com/v2" },
      "Incorrect version specified in apply patch. Specified patch version: management.example.com/v2, expected: management.example.com/v1",
    ],
  ])("answers an applied object with %s with 400", (_, applied, message) => {
    expect(refusal(() => apply(undefined, applied)).toStatus()).toMatchObject({
      code: 400,
      reason: "BadRequest",
      message,
    });
  });

  it("merges metadata by its own rules: granular labels, finalizers as a set, owner references by uid", () => {
    const owner = (uid: string, name: string) => ({ apiVersion: "v1", kind: "K", name, uid });
    const live = create(key({}, { labels: { a: "1" }, finalizers: ["x/a"], ownerReferences: [owner("1", "a")] }));
    const applied = apply(
      live,
      config(undefined, { labels: { b: "2" }, finalizers: ["x/b"], ownerReferences: [owner("2", "b")] }),
    );
    expect(applied.metadata).toMatchObject({
      labels: { a: "1", b: "2" },
      finalizers: ["x/a", "x/b"],
      ownerReferences: [owner("1", "a"), owner("2", "b")],
    });
    expect(managed(applied)?.[0]?.[1]).toEqual({
      "f:metadata": {
        "f:labels": { "f:b": {} },
        "f:finalizers": { 'v:"x/b"': {} },
        "f:ownerReferences": { 'k:{"uid":"2"}': {} },
      },
    });
  });

  it("deduces how to merge where there is no schema", () => {
    const schemaless = createFieldManager({ schema: undefined, groupVersion: { group: "", version: "v1" } });
    const map = (data: object) =>
      ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data }) as KubeObject;
    const one = schemaless.apply({ live: undefined, applied: map({ a: "1", l: [1] }), manager: "one", now: at(1) });
    const two = schemaless.apply({ live: one, applied: map({ b: { c: 1 } }), manager: "two", now: at(2) });
    expect(two["data"]).toEqual({ a: "1", l: [1], b: { c: 1 } });
    expect(managed(two)?.map(([, set]) => set)).toEqual([
      { "f:data": { ".": {}, "f:a": {}, "f:l": {} } },
      { "f:data": { ".": {}, "f:b": { ".": {}, "f:c": {} } } },
    ]);
  });
});

describe("field manager: from client-side to server-side apply", () => {
  const lastApplied = (spec: object) =>
    JSON.stringify({ apiVersion, kind: "OwnedAccessKey", metadata: { name: "k" }, spec });
  const annotated = (spec: object, applied: object) =>
    create(
      key(spec, { annotations: { [LAST_APPLIED_ANNOTATION]: lastApplied(applied) } }),
      "kubectl-client-side-apply",
    );

  it("lets kubectl change what it applied on the client's side, and keeps the annotation up", () => {
    const live = annotated({ user: "u", ttl: 1 }, { user: "u" });
    const applied = apply(live, config({ user: "v", key: "secret" }), { manager: "kubectl" });
    expect(applied["spec"]).toMatchObject({ user: "v", ttl: 1 });
    expect(applied.metadata.annotations?.[LAST_APPLIED_ANNOTATION]).toBe(`${lastApplied({ user: "v" })}\n`);
  });

  it("still refuses fields that others have changed since, and other managers", () => {
    const live = update(annotated({ user: "u", ttl: 1 }, { user: "u", ttl: 1 }), {
      spec: { user: "u", ttl: 2 },
    });
    expect(refusal(() => apply(live, config({ user: "v", ttl: 3 }), { manager: "kubectl" })).message).toBe(
      'Apply failed with 1 conflict: conflict with "updater" using management.example.com/v1: .spec.ttl',
    );
    expect(refusal(() => apply(live, config({ user: "v" }))).code).toBe(409);
  });
});
