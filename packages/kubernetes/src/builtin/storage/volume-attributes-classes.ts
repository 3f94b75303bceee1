// VolumeAttributesClasses: attributes of volumes that may change. They are stored, but have no effect.
// Source: k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass/strategy.go, pkg/apis/storage/validation/validation.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, forbiddenError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { qualifiedFaults } from "../field-checks.ts";
import { parameterFaults } from "./validate-storage-class.ts";

const fields = s.object({
  driverName: s.string(),
  parameters: s.map(s.string()),
});

type AttributesClass = KindOf<typeof fields>;

const validate = ({ driverName = "", parameters = {} }: AttributesClass): readonly FieldError[] => [
  ...(driverName === "" ? [requiredError("driverName")] : qualifiedFaults("driverName", driverName.toLowerCase())),
  ...parameterFaults("parameters", parameters),
  ...(Object.keys(parameters).length === 0
    ? [requiredError("parameters", "must contain at least one key/value pair")]
    : []),
];

const FIXED = ["driverName", "parameters"] as const;

export const volumeAttributesClasses: ResourceDefinition = defineBuiltin({
  group: "storage.k8s.io",
  version: "v1",
  kind: "VolumeAttributesClass",
  plural: "volumeattributesclasses",
  returnsDeletedObject: true,
  shortNames: ["vac"],
  namespaced: false,
  schema: kindSchema(fields.schema),
  columns: [
    {
      name: "DriverName",
      type: "string",
      value: ".driverName",
    },
    ageColumn,
  ],
  strategy: {
    allowUnconditionalUpdate: true,
    validate,
    validateUpdate: (next: AttributesClass, old: AttributesClass) =>
      FIXED.filter((name) => !equalJson(next[name] ?? null, old[name] ?? null))
        .map((name) => forbiddenError(name, `updates to ${name} are forbidden.`))
        .concat(validate(next)),
  },
});
