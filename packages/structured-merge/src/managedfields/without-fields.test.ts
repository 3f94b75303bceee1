import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createFieldManager } from "./field-manager.ts";
import { withoutFields } from "./without-fields.ts";

const text: StructuralSchema = { type: "string" };
const schema: StructuralSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        a: text,
        b: text,
        labels: { type: "object", additionalProperties: text },
        members: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: { type: "object", properties: { name: text, role: text }, required: ["name"] },
        },
        atomic: { type: "array", "x-kubernetes-list-type": "atomic", items: text },
      },
    },
  },
};
const fieldManager = createFieldManager({ schema, groupVersion: { group: "example.com", version: "v1" } });

const value = fc.constantFrom("x", "y");
const spec = fc.record(
  {
    a: value,
    b: value,
    labels: fc.dictionary(fc.constantFrom("p", "q"), value),
    members: fc.uniqueArray(fc.record({ name: fc.constantFrom("m", "n"), role: value }), {
      selector: ({ name }) => name,
    }),
    atomic: fc.array(value, { maxLength: 2 }),
  },
  { requiredKeys: [] },
);

const objectOf = (of: object): KubeObject => ({
  apiVersion: "example.com/v1",
  kind: "Gadget",
  metadata: { name: "g" },
  spec: of as KubeObject[string],
});
const now = "2026-01-01T00:00:00Z";

test("removing the fields of a conflict lets the rest be applied, and leaves these fields unchanged", () => {
  fc.assert(
    fc.property(spec, spec, spec, (ours, theirs, next) => {
      const made = fieldManager.apply({ live: undefined, applied: objectOf(ours), manager: "us", now });
      const edited = { ...made, ...objectOf(theirs), metadata: made.metadata };
      const live = fieldManager.update({ live: made, next: edited, manager: "them", now });
      const applied = objectOf(next);
      let fields: readonly string[] = [];
      try {
        fieldManager.apply({ live, applied, manager: "us", now });
      } catch (error) {
        if (!isApiError(error, "Conflict")) throw error;
        fields = (error.details?.causes ?? []).map(({ field = "" }) => field);
      }
      const rest = withoutFields(applied, new Set(fields), schema);
      if (fields.length === 0) expect(rest).toBe(applied);
      const after = fieldManager.apply({ live, applied: rest, manager: "us", now });
      const theirConflict = fieldManager.apply({ live, applied, manager: "us", now, force: true });
      // Where nothing was in conflict, it is what a forced apply gives.
      if (fields.length === 0) expect(after["spec"]).toEqual(theirConflict["spec"]);
      else expect(JSON.stringify(after["spec"])).not.toBe(JSON.stringify(theirConflict["spec"]));
    }),
    { numRuns: 500 },
  );
});

test("takes single members out of maps, lists and the object, and drops what is empty then", () => {
  const applied = objectOf({
    a: "x",
    labels: { p: "x" },
    members: [
      { name: "m", role: "x" },
      { name: "n", role: "y" },
    ],
  });
  const fields = new Set([".spec.a", ".spec.labels.p", '.spec.members[name="m"].role']);
  expect(withoutFields(applied, fields, schema)["spec"]).toEqual({
    members: [{ name: "m" }, { name: "n", role: "y" }],
  });
});
