import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { expect, it } from "vitest";
import { compiledSchemaOf } from "./compiled-schema.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

it("reads the fields of a schema when the first object comes, and once", () => {
  let reads = 0;
  const spec: StructuralSchema = {
    type: "object",
    get properties(): Readonly<Record<string, StructuralSchema>> {
      reads++;
      return { size: { type: "integer" } };
    },
  };
  const schema: StructuralSchema = { type: "object", properties: { metadata: { type: "object" }, spec } };
  const definition = { group: "example.com", version: "v1", kind: "Cake", schema } as ResourceDefinition;

  const { validator, fieldManager } = compiledSchemaOf(definition);
  expect(reads).toBe(0);

  const object = { apiVersion: "example.com/v1", kind: "Cake", metadata: { name: "a" }, spec: { size: "large" } };
  expect(validator.validate(object).map(({ field }) => field)).toEqual(["spec.size"]);
  const written = fieldManager.update({
    live: undefined,
    next: object as never,
    manager: "baker",
    now: "2026-01-01T00:00:00Z",
  });
  expect(written.metadata.managedFields).toHaveLength(1);
  const readsOfTheFirst = reads;
  expect(readsOfTheFirst).toBeGreaterThan(0);

  expect(validator.validate(object)).toHaveLength(1);
  fieldManager.update({ live: written, next: written, manager: "baker", now: "2026-01-01T00:00:01Z" });
  expect(reads).toBe(readsOfTheFirst);
});
