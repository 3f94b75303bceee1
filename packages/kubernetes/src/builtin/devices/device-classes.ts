// DeviceClasses: the kinds of devices that claims ask for. The scheduler reads them.
// Source: k8s.io/kubernetes/pkg/registry/resource/deviceclass/strategy.go, pkg/apis/resource/validation/validation.go (ValidateDeviceClass)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { invalidError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { publishedField } from "../published/published-field.ts";
import { isExtended } from "../quotas/resource-names.ts";
import { type Faults, itemFaults, itemFaultsInSteps } from "./device-names.ts";
import { DEVICES_GROUP, type DeviceClass, type DeviceClassSpec } from "./device-objects.ts";
import { createSelectorCheck } from "./device-selector.ts";
import { configurationFaults, MAX_ITEMS } from "./validate-device-claim.ts";

const fields = s.object({ spec: publishedField<DeviceClassSpec>("DeviceClassSpec") });

// Objects are JSON; only their named types hide it.
const isSame = (a: object = [], b: object = []): boolean => equalJson(a as JsonValue, b as JsonValue);

function* validate({ spec = {} }: DeviceClass, old?: DeviceClass): Steps<Faults> {
  const { selectors, config, extendedResourceName } = spec;
  const isStored = old !== undefined && isSame(config, old.spec?.config);
  // Stored selectors were compiled when they were stored.
  const isCompiled = old !== undefined && isSame(selectors, old.spec?.selectors);
  return [
    ...(isCompiled ? [] : yield* itemFaultsInSteps("spec.selectors", selectors, MAX_ITEMS, createSelectorCheck())),
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
    validate: async (next: DeviceClass, context: RequestContext) => await context.inParts(validate(next)),
    validateUpdate: async (next: DeviceClass, old: DeviceClass, context: RequestContext) =>
      await context.inParts(validate(next, old)),
  },
});
