// The parts of ResourceClaims, DeviceClasses and ResourceSlices, as validation reads them. Absent members of lists and maps are empty.
// Source: k8s.io/api/resource/v1/types.go

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

export const DEVICES_GROUP = "resource.k8s.io";

/** Of 64 bits. */
type Int = number | bigint;

export type DeviceSelector = { readonly cel?: { readonly expression?: string } };
export type DeviceToleration = {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
};
export type DeviceConfiguration = { readonly opaque?: { readonly driver?: string; readonly parameters?: JsonValue } };

type RequestedDevices = {
  readonly deviceClassName?: string;
  readonly selectors?: readonly DeviceSelector[];
  readonly allocationMode?: string;
  readonly count?: Int;
  readonly tolerations?: readonly DeviceToleration[];
};
export type ExactDeviceRequest = RequestedDevices & { readonly adminAccess?: boolean };
export type DeviceSubRequest = RequestedDevices & { readonly name?: string };
export type DeviceRequest = {
  readonly name?: string;
  readonly exactly?: ExactDeviceRequest;
  readonly firstAvailable?: readonly DeviceSubRequest[];
};
export type DeviceConstraint = {
  readonly requests?: readonly string[];
  readonly matchAttribute?: string;
  readonly distinctAttribute?: string;
};
export type DeviceClaim = {
  readonly requests?: readonly DeviceRequest[] | null;
  readonly constraints?: readonly DeviceConstraint[];
  readonly config?: readonly (DeviceConfiguration & { readonly requests?: readonly string[] })[];
};
export type ResourceClaimSpec = { readonly devices?: DeviceClaim };

export type AllocatedDevice = {
  readonly request?: string;
  readonly driver?: string;
  readonly pool?: string;
  readonly device?: string;
  readonly adminAccess?: boolean;
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
  readonly shareID?: string;
  readonly tolerations?: readonly DeviceToleration[];
};
export type AllocatedConfiguration = DeviceConfiguration & {
  readonly source?: string;
  readonly requests?: readonly string[];
};
export type AllocationResult = {
  readonly devices?: {
    readonly results?: readonly AllocatedDevice[];
    readonly config?: readonly AllocatedConfiguration[];
  };
  readonly nodeSelector?: JsonObject;
};
export type ConsumerReference = {
  readonly apiGroup?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly uid?: string;
};
export type DeviceCondition = {
  readonly type?: string;
  readonly status?: string;
  readonly observedGeneration?: Int;
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
};
export type AllocatedDeviceStatus = {
  readonly driver?: string;
  readonly pool?: string;
  readonly device?: string;
  readonly shareID?: string;
  readonly conditions?: readonly DeviceCondition[] | null;
  readonly data?: JsonValue;
  readonly networkData?: {
    readonly interfaceName?: string;
    readonly hardwareAddress?: string;
    readonly ips?: readonly string[];
  };
};
export type ResourceClaimStatus = {
  readonly allocation?: AllocationResult;
  readonly reservedFor?: readonly ConsumerReference[];
  readonly devices?: readonly AllocatedDeviceStatus[];
};
export type ResourceClaim = KubeObject & {
  readonly spec?: ResourceClaimSpec;
  readonly status?: ResourceClaimStatus;
};
export type ResourceClaimTemplate = KubeObject & {
  readonly spec?: { readonly metadata?: KubeObject["metadata"]; readonly spec?: ResourceClaimSpec };
};

export type DeviceClassSpec = {
  readonly selectors?: readonly DeviceSelector[];
  readonly config?: readonly DeviceConfiguration[];
  readonly extendedResourceName?: string;
};
export type DeviceClass = KubeObject & { readonly spec?: DeviceClassSpec };

export type DeviceAttribute = {
  readonly int?: Int;
  readonly bool?: boolean;
  readonly string?: string;
  readonly version?: string;
};
export type RequestPolicy = {
  readonly default?: JsonValue;
  readonly validValues?: readonly JsonValue[];
  readonly validRange?: { readonly min?: JsonValue; readonly max?: JsonValue; readonly step?: JsonValue };
};
export type DeviceCapacity = { readonly value?: JsonValue; readonly requestPolicy?: RequestPolicy };
export type DeviceTaint = {
  readonly key?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly timeAdded?: string | null;
};
export type Counters = { readonly [name: string]: { readonly value?: JsonValue } };
export type Device = {
  readonly name?: string;
  readonly attributes?: { readonly [name: string]: DeviceAttribute };
  readonly capacity?: { readonly [name: string]: DeviceCapacity };
  readonly consumesCounters?: readonly { readonly counterSet?: string; readonly counters?: Counters }[];
  readonly nodeName?: string;
  readonly nodeSelector?: JsonObject;
  readonly allNodes?: boolean;
  readonly taints?: readonly DeviceTaint[];
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
  readonly allowMultipleAllocations?: boolean;
  readonly nodeAllocatableResourceMappings?: JsonObject;
};
export type CounterSet = { readonly name?: string; readonly counters?: Counters };
export type ResourceSliceSpec = {
  readonly driver?: string;
  readonly pool?: { readonly name?: string; readonly generation?: Int; readonly resourceSliceCount?: Int };
  readonly nodeName?: string;
  readonly nodeSelector?: JsonObject;
  readonly allNodes?: boolean;
  readonly perDeviceNodeSelection?: boolean;
  readonly devices?: readonly Device[];
  readonly sharedCounters?: readonly CounterSet[];
};
export type ResourceSlice = KubeObject & { readonly spec?: ResourceSliceSpec };
