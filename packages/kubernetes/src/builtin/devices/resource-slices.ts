// ResourceSlices: the devices that a driver offers. The scheduler allocates them.
// Source: k8s.io/kubernetes/pkg/registry/resource/resourceslice/strategy.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { publishedField } from "../published/published-field.ts";
import { warningHooks } from "../workloads/status-strategy.ts";
import {
  type Counters,
  DEVICES_GROUP,
  type Device,
  type DeviceCapacity,
  type ResourceSlice,
  type ResourceSliceSpec,
} from "./device-objects.ts";
import { resourceSliceFaults } from "./validate-resource-slice.ts";

const fields = s.object({ spec: publishedField<ResourceSliceSpec>("ResourceSliceSpec") });

/** Without the fields of features that are off, and with the times of taints. */
function prepared(slice: ResourceSlice, { receivedAt }: RequestContext): ResourceSlice {
  const devices = slice.spec?.devices?.map((device): Device => {
    const { nodeAllocatableResourceMappings: _, attributes, taints, ...rest } = device;
    return {
      ...rest,
      ...(attributes === undefined ? {} : { attributes: withoutLists(attributes) }),
      ...(taints === undefined
        ? {}
        : {
            taints: taints.map((taint) => ({ ...taint, timeAdded: taint.timeAdded ?? formatTimestamp(receivedAt) })),
          }),
    };
  });
  return devices === undefined ? slice : { ...slice, spec: { ...slice.spec, devices } };
}

const withoutLists = (attributes: NonNullable<Device["attributes"]>): NonNullable<Device["attributes"]> =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [
      name,
      Object.fromEntries(
        Object.entries(attribute).filter(([member]) => !["bools", "ints", "strings", "versions"].includes(member)),
      ),
    ]),
  );

const specOf = (slice: ResourceSlice): ResourceSliceSpec => slice.spec ?? {};

const ZERO = { value: "0" };

/** Go writes amounts that are left out, and that a policy has no default. */
function withZeros(object: KubeObject): KubeObject {
  // Bodies of built-in kinds have passed their types by now.
  const { spec, ...slice } = object as ResourceSlice;
  const devices = spec?.devices?.map((device): Device => {
    const { capacity, consumesCounters } = device;
    return {
      ...device,
      ...(capacity === undefined ? {} : { capacity: mapValues(capacity, capacityWithZeros) }),
      ...(consumesCounters === undefined ? {} : { consumesCounters: consumesCounters.map(countersWithZeros) }),
    };
  });
  const sets = spec?.sharedCounters?.map(countersWithZeros);
  return {
    ...slice,
    spec: {
      ...spec,
      ...(devices === undefined ? {} : { devices }),
      ...(sets === undefined ? {} : { sharedCounters: sets }),
    },
  } as KubeObject;
}

const mapValues = <T>(map: { readonly [name: string]: T }, change: (value: T) => T): { readonly [name: string]: T } =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));

const capacityWithZeros = (capacity: DeviceCapacity): DeviceCapacity => ({
  ...ZERO,
  ...capacity,
  ...(capacity.requestPolicy === undefined ? {} : { requestPolicy: { default: null, ...capacity.requestPolicy } }),
});

const countersWithZeros = <T extends { readonly counters?: Counters }>(set: T): T =>
  set.counters === undefined
    ? set
    : { ...set, counters: mapValues(set.counters, (counter) => ({ ...ZERO, ...counter })) };

export const resourceSlices: ResourceDefinition = defineBuiltin({
  group: DEVICES_GROUP,
  version: "v1",
  kind: "ResourceSlice",
  plural: "resourceslices",
  returnsDeletedObject: true,
  namespaced: false,
  tracksGeneration: true,
  schema: kindSchema(fields.schema),
  selectableFields: [".spec.nodeName", ".spec.driver"],
  unknownFieldText: (field) => `field label not supported for ${DEVICES_GROUP}/v1, Kind=ResourceSlice: ${field}`,
  columns: [
    // Stored objects have passed the schema of the kind.
    { name: "Node", type: "string", value: (slice) => specOf(slice as ResourceSlice).nodeName ?? "" },
    { name: "Driver", type: "string", value: ".spec.driver" },
    { name: "Pool", type: "string", value: ".spec.pool.name" },
    ageColumn,
  ],
  setDefaults: withZeros,
  strategy: {
    allowUnconditionalUpdate: true,
    prepareForCreate: prepared,
    prepareForUpdate: (slice: ResourceSlice, _old, context) => prepared(slice, context),
    validate: (slice: ResourceSlice) => resourceSliceFaults(specOf(slice)),
    validateUpdate: (next: ResourceSlice, old: ResourceSlice) => resourceSliceFaults(specOf(next), specOf(old)),
    ...warningHooks((slice: ResourceSlice) => {
      const { driver = "" } = specOf(slice);
      return driver === driver.toLowerCase()
        ? []
        : [`spec.driver: driver names should be lowercase; ${quoteGo(driver)} contains uppercase characters`];
    }),
  },
});
