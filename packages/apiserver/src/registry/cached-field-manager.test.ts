import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { createSchemaValidator } from "@postern/apimachinery/schema/validation/validate-schema";
import { createFieldManager, type FieldManager } from "@postern/structured-merge/managedfields/field-manager";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { cachedFieldManager } from "./cached-field-manager.ts";

const text: StructuralSchema = { type: "string" };
const schema = kindSchema({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        user: text,
        ttl: { type: "integer" },
        struct: { type: "object", properties: { a: text, b: text } },
        atomic: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: text },
        tags: { type: "array", "x-kubernetes-list-type": "set", items: text },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", properties: { name: text, port: { type: "integer" } } },
        },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        key: text,
      },
    },
    status: { type: "object", properties: { phase: text } },
  },
});
const options = {
  schema,
  groupVersion: { group: "example.com", version: "v1" },
  hasStatus: true,
  untrackedPaths: [["spec", "key"]],
};

const word = fc.constantFrom("x", "y", "z");
const anySpec = fc.record(
  {
    user: fc.oneof({ weight: 6, arbitrary: word as fc.Arbitrary<unknown> }, fc.constantFrom(7, null)),
    ttl: fc.constantFrom(1, 2, 1.5),
    struct: fc.record({ a: word, b: word }, { requiredKeys: ["a"] }),
    atomic: fc.dictionary(fc.constantFrom("k", "l"), word),
    tags: fc.array(word, { maxLength: 2 }),
    ports: fc.uniqueArray(fc.record({ name: word, port: fc.constantFrom(1, 2) }), { maxLength: 2 }),
    free: fc.dictionary(fc.constantFrom("m", "n"), fc.oneof(word, fc.constant(3))),
    key: word,
  },
  { requiredKeys: [] },
);
// Shapes have to come again.
const usual = fc.record({ user: word, ttl: fc.constantFrom(1, 2), struct: fc.record({ a: word }) });
const spec = fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: anySpec });
const write = fc.record({
  manager: fc.constantFrom("kubectl", "kubectl", "helm", ""),
  subresource: fc.constantFrom("", "", "", "status"),
  second: fc.integer({ min: 0, max: 9 }),
  labels: fc.oneof(
    { weight: 4, arbitrary: fc.record({ team: word }) },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom("team", "toString"), word) },
  ),
  // Half of the writes change one field, as most do.
  user: fc.option(word),
  spec,
  phase: word,
  owners: fc.constantFrom("kept", "kept", "kept", "kept", "kept", "kept", "absent", "dropped"),
});
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never;

function nextOf(live: KubeObject | undefined, { user, ...sent }: Write): KubeObject {
  const known = (live?.["spec"] ?? {}) as object;
  const changed = {
    spec: live !== undefined && user !== null ? { ...known, user } : sent.spec,
    status: { phase: sent.phase },
  };
  const { managedFields, ...metadata } = live?.metadata ?? { name: "o" };
  const owners =
    sent.owners === "dropped"
      ? { managedFields: [{}] }
      : sent.owners === "kept" && managedFields
        ? { managedFields }
        : {};
  const labels = live !== undefined && user !== null ? {} : { labels: sent.labels };
  return {
    apiVersion: "example.com/v1",
    kind: "Thing",
    ...live,
    metadata: { ...metadata, ...labels, ...owners },
    ...changed,
  } as unknown as KubeObject;
}

it("gives every write the owners that the field manager gives it", () => {
  const manager: FieldManager = createFieldManager(options);
  const asked = vi.fn(manager.updateInSteps);
  const { isPlain } = createSchemaValidator(schema);
  const remembering = cachedFieldManager({ ...manager, updateInSteps: asked }, isPlain);
  let writes = 0;
  fc.assert(
    fc.property(fc.array(write, { minLength: 6, maxLength: 6 }), (drawn) => {
      let live: KubeObject | undefined;
      for (const one of drawn) {
        const input = {
          live,
          next: nextOf(live, one),
          manager: one.manager,
          subresource: live === undefined ? "" : one.subresource,
          now: `2026-01-02T15:04:0${one.second}Z`,
        };
        writes++;
        const expected = manager.update(input);
        const given = remembering.update(input);
        // Also the order of members: it is that of what is stored.
        expect(JSON.stringify(given)).toBe(JSON.stringify(expected));
        live = expected;
      }
    }),
    { numRuns: 1000 },
  );
  expect(asked.mock.calls.length).toBeLessThan(writes * 0.85);
});

it("remembers a creation and a change, whatever the values", () => {
  const manager = createFieldManager(options);
  const asked = vi.fn(manager.updateInSteps);
  const { update } = cachedFieldManager({ ...manager, updateInSteps: asked }, createSchemaValidator(schema).isPlain);
  const make = (name: string, user: string): KubeObject => ({
    apiVersion: "example.com/v1",
    kind: "Thing",
    metadata: { name, labels: { team: name } },
    spec: { user, ttl: 1 },
  });
  const created = ["a", "b"].map((name) =>
    update({ live: undefined, next: make(name, name), manager: "kubectl", now: "2026-01-02T15:04:05Z" }),
  );
  expect(asked).toHaveBeenCalledTimes(1);
  const times = ["2026-01-02T15:04:06Z", "2026-01-02T15:04:07Z"];
  const changed = created.map((live, at) =>
    update({ live, next: { ...live, spec: { user: `new-${at}`, ttl: 1 } }, manager: "kubectl", now: times[at] ?? "" }),
  );
  expect(asked).toHaveBeenCalledTimes(2);
  expect(changed.map(({ metadata }) => metadata.managedFields?.map(({ time }) => time))).toEqual(
    times.map((time) => [time]),
  );
});

it.each([
  ["a value that does not fit the schema", { user: 7, ttl: 1 }],
  ["a field that came while another one went", { user: "c", struct: { a: "x" } }],
  ["a list", { user: "c", ttl: 1, tags: ["x"] }],
])("does not take %s for a value that changed", (_, spec) => {
  const manager = createFieldManager(options);
  const { update } = cachedFieldManager(manager, createSchemaValidator(schema).isPlain);
  const make = (of: object): KubeObject => ({
    apiVersion: "example.com/v1",
    kind: "Thing",
    metadata: { name: "a" },
    spec: of as never,
  });
  const now = "2026-01-02T15:04:05Z";
  const create = (of: object) => ({ live: undefined, next: make(of), manager: "kubectl", now });
  const live = update(create({ user: "a", ttl: 1 }));
  const change = (of: object, second: number) => ({
    live,
    next: { ...live, spec: of as never },
    manager: "kubectl",
    now: `2026-01-02T15:04:0${second}Z`,
  });
  update(change({ user: "b", ttl: 1 }, 6));
  expect(update(create(spec))).toEqual(manager.update(create(spec)));
  expect(update(change(spec, 7))).toEqual(manager.update(change(spec, 7)));
});
