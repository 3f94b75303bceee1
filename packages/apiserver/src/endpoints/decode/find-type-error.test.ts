// The words are those of Go's encoding/json, as kube-apiserver shows them for built-in kinds.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { expect, it } from "vitest";
import { findTypeError } from "./find-type-error.ts";

const schema: StructuralSchema = {
  type: "object",
  properties: {
    data: { type: "object", additionalProperties: { type: "string" } },
    immutable: { type: "boolean" },
    seconds: { type: "integer", format: "int32" },
    rules: {
      type: "array",
      items: { type: "object", properties: { verbs: { type: "array", items: { type: "string" } } } },
    },
    spec: {
      type: "object",
      properties: { replicas: { type: "integer", format: "int32" }, roleRef: { type: "object" } },
    },
    port: { "x-kubernetes-int-or-string": true },
    limit: { isQuantity: true },
  },
};
const inField = (value: string, field: string, type: string, struct = "ConfigMap"): string =>
  `json: cannot unmarshal ${value} into Go struct field ${struct}.${field} of type ${type}`;

const QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

it.each<[JsonValue, string | undefined]>([
  [{ data: { a: "b" }, immutable: null, seconds: 5, rules: [{ verbs: ["get"] }], port: "x", unknown: [] }, undefined],
  [{ data: { a: 1 } }, inField("number", "data", "string")],
  [{ data: "x" }, inField("string", "data", "map[string]string")],
  [{ immutable: "yes" }, inField("string", "immutable", "bool")],
  [{ seconds: 1.5 }, inField("number 1.5", "seconds", "int32")],
  [{ rules: [{ verbs: "get" }] }, inField("string", "rules.verbs", "[]string", "PolicyRule")],
  [{ rules: [{ verbs: [true] }] }, inField("bool", "rules.verbs", "string", "PolicyRule")],
  [{ rules: "x" }, inField("string", "rules", "[]v1.PolicyRule")],
  [{ rules: ["x"] }, inField("string", "rules", "v1.PolicyRule")],
  [{ spec: [] }, inField("array", "spec", "v1.ConfigMapSpec")],
  [{ spec: { roleRef: "x" } }, inField("string", "spec.roleRef", "v1.RoleRef", "ConfigMapSpec")],
  [{ spec: { replicas: "x" } }, inField("string", "spec.replicas", "int32", "ConfigMapSpec")],
  [{ spec: { replicas: 2147483648 } }, inField("number 2147483648", "spec.replicas", "int32", "ConfigMapSpec")],
  [{ spec: { replicas: -2147483648 } }, undefined],
  [{ limit: "1" }, undefined],
  [{ limit: ["1"] }, QUANTITY],
  [{ limit: [{ toString: 1, valueOf: 1 }] }, QUANTITY],
  [{ limit: { toString: 1 } }, QUANTITY],
  [[], "json: cannot unmarshal array into Go value of type v1.ConfigMap"],
])("finds in %j the error %j", (value, fault) => {
  expect(findTypeError(value, schema, "ConfigMap")).toBe(fault);
});
