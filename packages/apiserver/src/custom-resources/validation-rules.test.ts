// Texts and places of broken rules are those of kube-apiserver v1.32.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { expect, it } from "vitest";
import { compileValidationRules } from "./validation-rules.ts";

const schema: StructuralSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: {
          type: "integer",
          "x-kubernetes-validations": [{ rule: "self >= oldSelf", message: "size cannot shrink" }],
        },
        mode: { type: "string" },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            properties: { name: { type: "string" }, port: { type: "integer" } },
            "x-kubernetes-validations": [
              { rule: "self.port > 0", messageExpression: "'port of ' + self.name", fieldPath: ".port" },
              { rule: "self.port == oldSelf.port", reason: "FieldValueForbidden", message: "ports stay" },
            ],
          },
        },
      },
      "x-kubernetes-validations": [
        { rule: "!has(self.mode) || self.mode != 'B' || self.size > 5", message: "mode B needs size above 5" },
        { rule: "self.size != 13" },
      ],
    },
  },
};

const broken = (spec: object, old?: object) => {
  const rules = compileValidationRules(schema);
  const object = (value: object) => ({ apiVersion: "g/v1", kind: "K", metadata: {}, spec: value }) as KubeObject;
  return rules?.(object(spec), old && object(old)).map(({ type, field, message }) => `${type} ${field}: ${message}`);
};

it.each<[string, string[] | undefined, string[]]>([
  ["a valid object", broken({ size: 1, mode: "A" }), []],
  [
    "a message",
    broken({ size: 1, mode: "B" }),
    ['FieldValueInvalid spec: Invalid value: "object": mode B needs size above 5'],
  ],
  [
    "no message",
    broken({ size: 13 }),
    ['FieldValueInvalid spec: Invalid value: "object": failed rule: self.size != 13'],
  ],
  ["a transition, on create", broken({ size: 1 }), []],
  [
    "a transition, on update",
    broken({ size: 1 }, { size: 2 }),
    ['FieldValueInvalid spec.size: Invalid value: "integer": size cannot shrink'],
  ],
  [
    "a computed message and a path below",
    broken({ size: 1, ports: [{ name: "a", port: 0 }] }),
    ['FieldValueInvalid spec.ports[0].port: Invalid value: "object": port of a'],
  ],
  [
    "an item that is known by its key",
    broken(
      {
        size: 1,
        ports: [
          { name: "b", port: 2 },
          { name: "a", port: 3 },
        ],
      },
      { size: 1, ports: [{ name: "a", port: 1 }] },
    ),
    ["FieldValueForbidden spec.ports[1]: Forbidden: ports stay"],
  ],
  [
    "a rule that cannot be evaluated",
    broken({ mode: "B" }),
    [
      'FieldValueInvalid spec: Invalid value: "object": no such key: size evaluating rule: mode B needs size above 5',
      'FieldValueInvalid spec: Invalid value: "object": no such key: size evaluating rule: failed rule: self.size != 13',
    ],
  ],
])("reports %s", (_name, errors, expected) => {
  expect(errors).toEqual(expected);
});

it("is nothing where a schema has no rules", () => {
  expect(compileValidationRules({ type: "object", properties: { spec: { type: "object" } } })).toBeUndefined();
});
