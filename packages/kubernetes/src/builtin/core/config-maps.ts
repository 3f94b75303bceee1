// ConfigMaps: configuration by key.
// Source: k8s.io/kubernetes/pkg/registry/core/configmap/strategy.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, keyPath } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { decodedSize, textSize, validateImmutability, validateKeys, validateTotalSize } from "./keyed-data.ts";

const configMapFields = s.object({
  data: s.map(s.string()),
  binaryData: s.map(s.bytes()),
  immutable: s.boolean(),
});

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
  shortNames: ["cm"],
  namespaced: true,
  schema: kindSchema(configMapFields.schema),
  columns: [
    {
      name: "Data",
      type: "integer",
      value: ({ data, binaryData }) => Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
    },
    ageColumn,
  ],
  strategy,
});
