// Texts and places of broken rules are those of kube-apiserver v1.32.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import { describe, expect, it } from "vitest";
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

const rulesOf = (of: StructuralSchema) => {
  const errors: FieldError[] = [];
  const rules = compileValidationRules(of, "schema", errors);
  expect(errors).toEqual([]);
  return rules;
};

const objectOf = (spec: object) => ({ apiVersion: "g/v1", kind: "K", metadata: {}, spec }) as KubeObject;

const textOf = ({ type, field, message }: FieldError): string => `${type} ${field}: ${message}`;

const broken = (spec: object, old?: object, of = schema) =>
  rulesOf(of)?.(objectOf(spec), old && objectOf(old), () => {})?.map(textOf);

it.each<[string, string[] | undefined, string[]]>([
  ["a valid object", broken({ size: 1, mode: "A" }), []],
  ["a message", broken({ size: 1, mode: "B" }), ["FieldValueInvalid spec: Invalid value: mode B needs size above 5"]],
  ["no message", broken({ size: 13 }), ["FieldValueInvalid spec: Invalid value: failed rule: self.size != 13"]],
  ["a transition, on create", broken({ size: 1 }), []],
  [
    "a transition, on update",
    broken({ size: 1 }, { size: 2 }),
    ['FieldValueInvalid spec.size: Invalid value: "integer": size cannot shrink'],
  ],
  [
    "a computed message and a path below",
    broken({ size: 1, ports: [{ name: "a", port: 0 }] }),
    ["FieldValueInvalid spec.ports[0].port: Invalid value: port of a"],
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
      'FieldValueInvalid spec: Invalid value: "object": no such key: size evaluating rule: self.size != 13',
    ],
  ],
])("reports %s", (_name, errors, expected) => {
  expect(errors).toEqual(expected);
});

it("is nothing where a schema has no rules", () => {
  expect(rulesOf({ type: "object", properties: { spec: { type: "object" } } })).toBeUndefined();
});

describe("an unchanged value", () => {
  const RULE = [{ rule: "self.size() < 3", message: "is too long" }];
  const text: StructuralSchema = { type: "string", "x-kubernetes-validations": RULE };
  const list = (type?: "atomic" | "set" | "map"): StructuralSchema => ({
    type: "array",
    items: type === "map" ? { type: "object", properties: { key: { type: "string" }, text } } : text,
    ...(type === undefined ? {} : { "x-kubernetes-list-type": type }),
    ...(type === "map" ? { "x-kubernetes-list-map-keys": ["key"] } : {}),
  });
  const spec: StructuralSchema = {
    type: "object",
    properties: {
      text,
      other: { type: "string" },
      plain: list(),
      atomic: list("atomic"),
      set: list("set"),
      map: list("map"),
      tied: {
        type: "string",
        "x-kubernetes-validations": [{ rule: "self == oldSelf && self != 'long'", message: "is tied" }],
      },
    },
  };
  const check = (now: object, old: object) => {
    const warnings: string[] = [];
    const rules = rulesOf({ type: "object", properties: { spec } });
    const errors = rules?.(objectOf(now), objectOf(old), (text) => warnings.push(text));
    return { errors: errors?.map(({ field }) => field), warnings };
  };

  it.each<[string, object, object, string[]]>([
    ["a value", { text: "long", other: "b" }, { text: "long", other: "a" }, []],
    ["a changed value", { text: "longer" }, { text: "long" }, ["spec.text"]],
    ["a new value", { text: "long" }, {}, ["spec.text"]],
    ["a plain list as a whole", { plain: ["long"], other: "b" }, { plain: ["long"] }, []],
    ["a plain list that changes elsewhere", { plain: ["long", "b"] }, { plain: ["long", "a"] }, ["spec.plain[0]"]],
    ["an atomic list as a whole", { atomic: ["long"], other: "b" }, { atomic: ["long"] }, []],
    ["an atomic list that changes elsewhere", { atomic: ["long", "b"] }, { atomic: ["long"] }, ["spec.atomic[0]"]],
    ["a set that changes elsewhere", { set: ["long", "b"] }, { set: ["long"] }, ["spec.set[0]"]],
    [
      "an item that is known by its key",
      {
        map: [
          { key: "n", text: "x" },
          { key: "a", text: "long" },
        ],
      },
      { map: [{ key: "a", text: "long" }] },
      [],
    ],
    ["a rule that compares", { tied: "long" }, { tied: "long" }, ["spec.tied"]],
  ])("%s", (_name, now, old, expected) => {
    expect(check(now, old).errors).toEqual(expected);
  });

  it("is warned of", () => {
    expect(check({ text: "long", other: "b" }, { text: "long", other: "a" }).warnings).toEqual([
      'spec.text: Invalid value: "string": is too long',
    ]);
  });
});

describe("a rule", () => {
  const faultsOf = (source: object, of: StructuralSchema = { type: "integer" }, around?: StructuralSchema) => {
    const value: StructuralSchema = { ...of, "x-kubernetes-validations": [source as JsonObject] };
    const errors: FieldError[] = [];
    const inner = around === undefined ? value : { ...around, items: value };
    compileValidationRules({ type: "object", properties: { value: inner } }, "schema", errors);
    return errors.map(textOf);
  };
  const AT = "schema.properties[value].x-kubernetes-validations[0]";

  it.each<[string, object, string[]]>([
    ["that is fine", { rule: "self > 1", message: "m", reason: "FieldValueForbidden" }, []],
    ["without a rule", { rule: " " }, [`FieldValueRequired ${AT}.rule: Required value: rule is not specified`]],
    [
      "of another type",
      { rule: "self + 1" },
      [`FieldValueInvalid ${AT}.rule: Invalid value: "self + 1": cel expression must evaluate to a bool`],
    ],
    [
      "with a fault",
      { rule: "self > 1 &&\n nobody", message: "m" },
      [
        `FieldValueInvalid ${AT}.rule: Invalid value: "self > 1 &&\\n nobody": compilation failed: ERROR: <input>:2:2: undeclared reference to 'nobody' (in container '')\n |  nobody\n | .^`,
      ],
    ],
    [
      "with several faults",
      { rule: "self.x > 1 &&\n nobody && self > 1", message: "m" },
      [
        `FieldValueInvalid ${AT}.rule: Invalid value: "self.x > 1 &&\\n nobody && self > 1": compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection\n | self.x > 1 &&\n | ....^\nERROR: <input>:2:2: undeclared reference to 'nobody' (in container '')\n |  nobody && self > 1\n | .^`,
      ],
    ],
    [
      "of several lines without a message",
      { rule: "self >\n1" },
      [`FieldValueRequired ${AT}.message: Required value: message must be specified if rule contains line breaks`],
    ],
    [
      "with a message of several lines",
      { rule: "self > 1", message: "a\nb" },
      [`FieldValueInvalid ${AT}.message: Invalid value: "a\\nb": message must not contain line breaks`],
    ],
    [
      "with an empty message",
      { rule: "self > 1", message: " " },
      [`FieldValueInvalid ${AT}.message: Invalid value: " ": message must be non-empty if specified`],
    ],
    [
      "with an unknown reason",
      { rule: "self > 1", reason: "Because" },
      [
        `FieldValueNotSupported ${AT}.reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
      ],
    ],
    [
      "whose message is no text",
      { rule: "self > 1", messageExpression: "self" },
      [`FieldValueInvalid ${AT}.messageExpression: Invalid value: "self": messageExpression must evaluate to a string`],
    ],
    [
      "with a path that leads nowhere",
      { rule: "self > 1", fieldPath: ".a" },
      [
        `FieldValueInvalid ${AT}.fieldPath: Invalid value: ".a": fieldPath must be a valid path: does not refer to a valid field`,
      ],
    ],
    [
      "with an old value that it does not need",
      { rule: "self > 1", optionalOldSelf: true },
      [`FieldValueInvalid ${AT}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`],
    ],
  ])("%s", (_name, source, expected) => {
    expect(faultsOf(source)).toEqual(expected);
  });

  it("cannot compare items without a distinguishing key", () => {
    expect(faultsOf({ rule: "self == oldSelf" }, { type: "integer" }, { type: "array" })).toEqual([
      'FieldValueInvalid schema.properties[value].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[value]',
    ]);
  });

  it("is reported like all others, each with its errors", () => {
    const faults: FieldError[] = [];
    const value: StructuralSchema = {
      type: "object",
      properties: { a: { type: "string", "x-kubernetes-validations": [{ rule: "self > 1" }] } },
      "x-kubernetes-validations": [{ rule: "self.b" }, { rule: "has(self.a)" }, { rule: "1 +" }],
    };
    compileValidationRules(value, "schema", faults);
    expect(faults.map(({ field }) => field).sort()).toEqual([
      "schema.properties[a].x-kubernetes-validations[0].rule",
      "schema.x-kubernetes-validations[0].rule",
      "schema.x-kubernetes-validations[2].rule",
    ]);
  });

  it("is not possible about values of no type", () => {
    expect(faultsOf({ rule: "true" }, { "x-kubernetes-preserve-unknown-fields": true })).toEqual([
      "FieldValueInvalid schema.properties[value].x-kubernetes-validations: Invalid value: \"\": rule declared on schema that does not support validation rules type: '' x-kubernetes-preserve-unknown-fields: 'true'",
    ]);
  });

  it("points to a field of an object and to a key of a map", () => {
    const at = (fieldPath: string) =>
      broken({ labels: {} }, undefined, {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { labels: { type: "object", additionalProperties: { type: "string" } } },
            "x-kubernetes-validations": [{ rule: "false", message: "no", fieldPath }],
          },
        },
      });
    expect(at(".labels")).toEqual(["FieldValueInvalid spec.labels: Invalid value: no"]);
    expect(at(".labels['a.b/c']")).toEqual(["FieldValueInvalid spec.labels[a.b/c]: Invalid value: no"]);
  });

  it("of allOf is about the value around it", () => {
    const of: StructuralSchema = {
      type: "object",
      properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
      allOf: [
        { properties: { spec: { "x-kubernetes-validations": [{ rule: "self.size > 1", message: "too small" }] } } },
      ],
    };
    expect(broken({ size: 1 }, undefined, of)).toEqual(["FieldValueInvalid spec: Invalid value: too small"]);
    expect(broken({ size: 2 }, undefined, of)).toEqual([]);
  });
});
