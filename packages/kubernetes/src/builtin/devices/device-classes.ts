// DeviceClasses: the kinds of devices that claims ask for. The scheduler reads them.
// Source: k8s.io/kubernetes/pkg/registry/resource/deviceclass/strategy.go, pkg/apis/resource/validation/validation.go (ValidateDeviceClass)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { publishedField } from "../published/published-field.ts";
import { isExtended } from "../quotas/resource-names.ts";
import { type Faults, itemFaults } from "./device-names.ts";
import { DEVICES_GROUP, type DeviceClass, type DeviceClassSpec } from "./device-objects.ts";
import { selectorFaults } from "./device-selector.ts";
import { configurationFaults, MAX_ITEMS } from "./validate-device-claim.ts";

const fields = s.object({ spec: publishedField<DeviceClassSpec>("DeviceClassSpec") });

function validate({ spec = {} }: DeviceClass, old?: DeviceClass): Faults {
  const { selectors, config, extendedResourceName } = spec;
  // Objects are JSON; only their named types hide it.
  const isStored = old !== undefined && equalJson((config ?? []) as JsonValue, (old.spec?.config ?? []) as JsonValue);
  return [
    ...itemFaults("spec.selectors", selectors, MAX_ITEMS, (at, each) => selectorFaults(each, at)),
    ...itemFaults("spec.config", config, MAX_ITEMS, (at, each) => configurationFaults(at, each, isStored)),
    ...(extendedResourceName === undefined || isExtended(extendedResourceName)
      ? []
      : [invalidError("spec.extendedResourceName", extendedResourceName, "must be a valid extended resource name")]),
  ];
}

export const deviceClasses: ResourceDefinition = defineBuiltin({
  group: DEVICES_GROUP,
  version: "v1",
  kind: "DeviceClass",
  plural: "deviceclasses",
  returnsDeletedObject: true,
  namespaced: false,
  tracksGeneration: true,
  schema: kindSchema(fields.schema),
  columns: [ageColumn],
  strategy: {
    allowUnconditionalUpdate: true,
    validate: (next: DeviceClass) => validate(next),
    validateUpdate: validate,
  },
});
