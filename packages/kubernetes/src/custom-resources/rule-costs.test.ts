import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import { describe, expect, it } from "vitest";
import { compileValidationRules } from "./validation-rules.ts";

const TRY =
  "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

const faultsOf = (schema: StructuralSchema): readonly string[] => {
  const errors: FieldError[] = [];
  compileValidationRules(schema, "schema", errors);
  return errors.map(({ type, field, message }) => `${type} ${field}: ${message}`);
};
const rules = (...sources: JsonObject[]) => ({ "x-kubernetes-validations": sources });
const inObject = (properties: { readonly [name: string]: StructuralSchema }): StructuralSchema => ({
  type: "object",
  properties,
});
/** A list with a rule on each item. */
const tags = (rule: string, limits: object = {}, item: object = {}): StructuralSchema => ({
  type: "array",
  ...limits,
  items: { type: "string", ...item, ...rules({ rule }) },
});

describe("a rule that could cost too much", () => {
  it("is refused, by itself and as the most of all rules together", () => {
    const list: StructuralSchema = {
      type: "array",
      items: { type: "string" },
      ...rules({ rule: "self.all(x, x.contains('gpu'))" }),
    };
    expect(faultsOf(inObject({ tags: list }))).toEqual([
      `FieldValueForbidden schema.properties[tags].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${TRY}`,
      "FieldValueForbidden schema.properties[tags].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
      `FieldValueForbidden schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${TRY}`,
    ]);
  });

  // The largest lists that a kube-apiserver takes with such texts.
  it.each([
    [16, 909_090],
    [63, 333_333],
    [253, 94_339],
    [1_024, 24_154],
  ])("is refused from one item on more than a list of texts of %d characters may have: %d", (maxLength, most) => {
    const list = (maxItems: number) =>
      inObject({
        tags: {
          type: "array",
          maxItems,
          items: { type: "string", maxLength },
          ...rules({ rule: "self.all(x, x.contains('gpu'))" }),
        },
      });
    expect(faultsOf(list(most))).toEqual([]);
    expect(faultsOf(list(most + 1))).toEqual([
      `FieldValueForbidden schema.properties[tags].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 1.00${"0".repeat(2)}${faultsOf(list(most + 1))[0]?.match(/1\.0000(\d\d)x/)?.[1]}x ${TRY}`,
    ]);
  });

  it("is one that costs little, but is about very many values", () => {
    expect(faultsOf(inObject({ tags: tags("self.contains('x')", { maxItems: 100 }, { maxLength: 10 }) }))).toEqual([]);
    const [fault] = faultsOf(inObject({ tags: tags("self.contains('x')", {}, { maxLength: 1_000 }) }));
    expect(fault).toContain("[tags].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds");
    const within = { type: "array", maxItems: 1_000, items: inObject({ tags: tags("true", { maxItems: 100_000 }) }) };
    expect(faultsOf(inObject({ within: within as StructuralSchema }))).toEqual([]);
    const asking = { ...within, items: inObject({ tags: tags("self == 'x'", { maxItems: 100_000 }) }) };
    expect(faultsOf(inObject({ within: asking as StructuralSchema }))[0]).toContain("by factor of 20.0x");
  });

  it("is a message that could be very long, counted once", () => {
    const number: StructuralSchema = {
      type: "integer",
      ...rules({ rule: "self > 1", messageExpression: "'too small: ' + string(self)" }),
    };
    expect(faultsOf(inObject({ number }))[0]).toBe(
      `FieldValueForbidden schema.properties[number].x-kubernetes-validations[0].messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of more than 100x ${TRY}`,
    );
    const formatted = rules({ rule: "self > 1", messageExpression: "'too small: %d'.format([self])" });
    expect(faultsOf(inObject({ number: { type: "integer", ...formatted } }))).toEqual([]);
  });

  it("is each of many that together do", () => {
    const costly = (maxItems: number) => ({
      type: "array" as const,
      maxItems,
      items: { type: "string" as const, maxLength: 16 },
      ...rules({ rule: "self.all(x, x.contains('gpu'))" }),
    });
    const many = inObject(Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`t${at}`, costly(900_000 - at)])));
    const faults = faultsOf(many);
    expect(faults).toHaveLength(5);
    expect(faults.slice(0, 4).map((fault) => fault.match(/\[(t\d+)\]/)?.[1])).toEqual(["t0", "t1", "t2", "t3"]);
    expect(faults[4]).toBe(
      `FieldValueForbidden schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of ${faults[4]?.match(/of (1\.\d{6})x/)?.[1]}x ${TRY}`,
    );
  });
});
