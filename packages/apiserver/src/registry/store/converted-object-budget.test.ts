import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { expect, it } from "vitest";
import { CachedObject, encodeStoredValue } from "../../cache/cached-object.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { ConvertedObjectBudget, fixedConversionMemory } from "./converted-object-budget.ts";
import { codecOf } from "./object-codec.ts";

it("keeps as much as there is room for", () => {
  const memory = new ConvertedObjectBudget(fixedConversionMemory(10));
  expect([4, 7, 6, 1].map((byteLength) => memory.keeps({ byteLength }))).toEqual([true, false, true, false]);
});

const TEXT = "x".repeat(10_000);
const schema: StructuralSchema = {
  type: "object",
  properties: { text: { type: "string", default: TEXT }, short: { type: "string", default: "y" } },
};
/** As of a custom resource whose schema has got defaults. */
const definition = {
  group: "example.com",
  version: "v1",
  kind: "Note",
  schema,
  storedSchemas: new Map([["example.com/v1", schema]]),
} as unknown as ResourceDefinition;

const recordOf = (name: string, more: object = {}): CachedObject => {
  const object = { apiVersion: "example.com/v1", kind: "Note", metadata: { name }, ...more };
  return CachedObject.fromEntry({ key: `/${name}`, revision: 1, value: encodeStoredValue(object) });
};

it("shows objects without late defaults that are large when there is no room for more of them", () => {
  const { show = expect.unreachable() } = codecOf(definition);
  const memory = new ConvertedObjectBudget(fixedConversionMemory(15_000));
  const [first, second] = [recordOf("first"), recordOf("second")];
  expect(show(first, memory).decode()).toMatchObject({ text: TEXT, short: "y" });
  expect(show(second, memory).decode()).not.toHaveProperty("text");
  // Kept objects are shown as before, and an object that grows by little is shown with its defaults.
  expect(show(first, memory).decode()).toMatchObject({ text: TEXT, short: "y" });
  expect(show(recordOf("third", { text: "z".repeat(9_000) }), memory).decode()).toMatchObject({ short: "y" });
});

it("shows an object as it was written where its late defaults are more than an object may have", () => {
  const { show = expect.unreachable() } = codecOf({
    ...definition,
    schema: { type: "object", properties: { list: { type: "array", items: schema } } },
    storedSchemas: new Map([
      ["example.com/v1", { type: "object", properties: { list: { type: "array", items: schema } } }],
    ]),
  } as unknown as ResourceDefinition);
  const list = Array.from({ length: 1_000 }, () => ({}));
  expect(show(recordOf("a", { list }), new ConvertedObjectBudget()).decode()).toMatchObject({ list });
  expect(show(recordOf("a", { list: [{}] }), new ConvertedObjectBudget()).decode()).toMatchObject({
    list: [{ text: TEXT }],
  });
});
