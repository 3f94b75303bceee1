// ConfigMaps: settings by key, readable by whoever may read the object.
// Source: k8s.io/kubernetes/pkg/registry/core/configmap/strategy.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, keyPath } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { Strategy } from "../../registry/strategy.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { decodedSize, textSize, validateImmutability, validateKeys, validateTotalSize } from "./keyed-data.ts";

const configMapFields = s
  .object({
    data: s.map(s.string()).describe("Texts by key. Keys are alphanumeric, with '-', '_' and '.'."),
    binaryData: s.map(s.bytes()).describe("Bytes by key, in base64. No key may also be in data."),
    immutable: s
      .boolean()
      .describe("True: neither the data nor this field can be changed any more. Absent means false."),
  })
  .describe("Settings that are not secret, by key.");

export type ConfigMap = KindOf<typeof configMapFields>;

const strategy: Strategy<ConfigMap> = {
  allowUnconditionalUpdate: true,
  validate: validateConfigMap,
  validateUpdate: (configMap, old) => [
    ...validateImmutability(configMap, old, ["data", "binaryData"]),
    ...validateConfigMap(configMap),
  ],
};

function validateConfigMap({ data, binaryData }: ConfigMap): readonly FieldError[] {
  const twice = Object.keys(binaryData ?? {}).filter((key) => Object.hasOwn(data ?? {}, key));
  return [
    ...validateKeys(data, "data"),
    ...twice.map((key) => invalidError(keyPath("data", key), key, "duplicate of key present in binaryData")),
    ...validateKeys(binaryData, "binaryData"),
    ...validateTotalSize(textSize(data) + decodedSize(binaryData), ""),
  ];
}

export const configMaps: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  singular: "configmap",
  shortNames: ["cm"],
  namespaced: true,
  schema: kindSchema(configMapFields.schema),
  columns: [
    {
      name: "Data",
      type: "integer",
      description: "Number of keys.",
      value: ({ data, binaryData }) => Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
    },
    ageColumn,
  ],
  strategy,
});
