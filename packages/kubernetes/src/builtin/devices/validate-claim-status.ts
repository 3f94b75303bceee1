// Requirements of the status of ResourceClaims, which the scheduler and drivers write.
// Source: k8s.io/kubernetes/pkg/apis/resource/validation/validation.go (ValidateResourceClaimStatusUpdate)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { isCidr } from "@postern/apimachinery/schema/validation/ip-address";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import {
  duplicateError,
  forbiddenError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
  tooLongError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabelName } from "@postern/apimachinery/validation/labels";
import { IpAddress } from "@postern/cel/functions/ip-address";
import { labelFaults, readNetwork } from "../field-checks.ts";
import { nodeSelectorFaults } from "../workloads/pods/validate-affinity.ts";
import {
  bindingConditionFaults,
  driverFaults,
  type Faults,
  itemFaults,
  poolFaults,
  uniqueItemFaults,
} from "./device-names.ts";
import type {
  AllocatedConfiguration,
  AllocatedDevice,
  AllocatedDeviceStatus,
  AllocationResult,
  ConsumerReference,
  DeviceCondition,
  ResourceClaim,
} from "./device-objects.ts";
import {
  configurationFaults,
  dataFaults,
  MAX_ITEMS,
  type RequestNames,
  requestNameFaults,
  requestNamesFaults,
  requestNamesOf,
} from "./validate-device-claim.ts";

export const MAX_CONSUMERS = 256;

/** Where a device is: unique among the devices of a claim. */
export const placeOf = ({ driver = "", pool = "", device = "", shareID = "" }: AllocatedDevice): string =>
  [driver, pool, device, shareID].join("/");

const placesOf = (allocation: AllocationResult | undefined): ReadonlySet<string> =>
  new Set((allocation?.devices?.results ?? []).map(placeOf));

/** Upstream shows the place as an object of its own. */
const shownPlace = ({ driver = "", pool = "", device = "", shareID = "" }: AllocatedDevice): JsonValue => ({
  Driver: driver,
  Pool: pool,
  Device: device,
  ShareID: shareID,
});

export function claimStatusFaults(next: ResourceClaim, old: ResourceClaim): Faults {
  const { allocation, reservedFor = [], devices } = next.status ?? {};
  const places = placesOf(allocation);
  return [
    ...uniqueItemFaults("status.reservedFor", reservedFor, MAX_CONSUMERS, consumerFaults, ({ uid = "" }) => uid),
    ...uniqueItemFaults(
      "status.devices",
      devices,
      Number.POSITIVE_INFINITY,
      (at, each) => deviceStatusFaults(at, each, places),
      placeOf,
      shownPlace,
    ),
    ...reservationFaults(next, old),
    ...allocationFaults(allocation, old.status?.allocation, requestNamesOf(next.spec?.devices)),
  ];
}

const consumerFaults = (path: string, { resource = "", name = "", uid = "" }: ConsumerReference): Faults =>
  Object.entries({ resource, name, uid }).flatMap(([member, value]) =>
    value === "" ? [requiredError(`${path}.${member}`)] : [],
  );

const consumerKey = ({ apiGroup = "", resource = "", name = "", uid = "" }: ConsumerReference): string =>
  stringifyJson([apiGroup, resource, name, uid]);

/** A claim that is being deleted is freed, and gets no new consumers. */
function reservationFaults({ metadata, status = {} }: ResourceClaim, old: ResourceClaim): Faults {
  const { allocation, reservedFor = [] } = status;
  const path = "status.reservedFor";
  if (reservedFor.length === 0) return [];
  if (allocation === undefined) return [forbiddenError(path, "may not be specified when `allocated` is not set")];
  const before = new Set((old.status?.reservedFor ?? []).map(consumerKey));
  const isNew = (one: ConsumerReference): boolean => !before.has(consumerKey(one));
  return metadata.deletionTimestamp !== undefined && reservedFor.some(isNew)
    ? [
        forbiddenError(
          path,
          "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
        ),
      ]
    : [];
}

function allocationFaults(
  allocation: AllocationResult | undefined,
  old: AllocationResult | undefined,
  names: RequestNames,
): Faults {
  const path = "status.allocation";
  if (allocation === undefined) return [];
  // Objects are JSON; only their named types hide it.
  const [is, was] = [allocation as JsonValue, old as JsonValue | undefined];
  if (was !== undefined) return equalJson(is, was) ? [] : [invalidError(path, is, "field is immutable")];
  const { devices = {}, nodeSelector } = allocation;
  return [
    ...itemFaults(`${path}.devices.results`, devices.results, MAX_ITEMS, (at, each) => resultFaults(at, each, names)),
    ...itemFaults(`${path}.devices.config`, devices.config, 2 * MAX_ITEMS, (at, each) =>
      allocatedConfigurationFaults(at, each, names),
    ),
    ...nodeSelectorFaults(nodeSelector, `${path}.nodeSelector`),
  ];
}

const resultFaults = (path: string, result: AllocatedDevice, names: RequestNames): Faults => [
  ...requestNameFaults(`${path}.request`, result.request ?? "", names),
  ...driverFaults(`${path}.driver`, result.driver ?? ""),
  ...poolFaults(`${path}.pool`, result.pool ?? ""),
  ...labelFaults(`${path}.device`, result.device ?? ""),
  ...bindingConditionFaults(path, result),
  ...shareFaults(`${path}.shareID`, result.shareID),
];

const SOURCES = ["FromClaim", "FromClass"];

const allocatedConfigurationFaults = (path: string, config: AllocatedConfiguration, names: RequestNames): Faults => [
  ...sourceFaults(`${path}.source`, config.source ?? ""),
  ...requestNamesFaults(`${path}.requests`, config.requests, names),
  ...configurationFaults(path, config),
];

function sourceFaults(path: string, source: string): Faults {
  if (source === "") return [requiredError(path)];
  return SOURCES.includes(source) ? [] : [notSupportedError(path, source, SOURCES)];
}

const NORMAL_FORM =
  "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";

/** The forms that Go's parser takes: with braces, as a URN, and without dashes. */
function shareFaults(path: string, uid: string | undefined): Faults {
  if (uid === undefined) return [];
  const why = uidFault(uid);
  if (why !== undefined) return [invalidError(path, uid, `error validating uid: ${why}`)];
  return uid.length === 36 && uid === uid.toLowerCase() ? [] : [invalidError(path, uid, NORMAL_FORM)];
}

const HEX = /^[0-9a-f]{32}$/i;
const DASHED = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Source: github.com/google/uuid (Validate) */
function uidFault(uid: string): string | undefined {
  const wrong = "invalid UUID format";
  const dashed = (text: string): string | undefined => (DASHED.test(text) ? undefined : wrong);
  switch (byteLength(uid)) {
    case 36:
      return dashed(uid);
    case 45:
      return uid.slice(0, 9).toLowerCase() === "urn:uuid:"
        ? dashed(uid.slice(9))
        : `invalid urn prefix: ${JSON.stringify(uid.slice(0, 9))}`;
    case 38:
      return uid.startsWith("{") && uid.endsWith("}") ? dashed(uid.slice(1, -1)) : "invalid bracketed UUID format";
    case 32:
      return HEX.test(uid) ? undefined : wrong;
    default:
      return `invalid UUID length: ${byteLength(uid)}`;
  }
}

const MAX_DEVICE_CONDITIONS = 8;

function deviceStatusFaults(path: string, status: AllocatedDeviceStatus, places: ReadonlySet<string>): Faults {
  const conditions = status.conditions ?? [];
  return [
    ...driverFaults(`${path}.driver`, status.driver ?? ""),
    ...poolFaults(`${path}.pool`, status.pool ?? ""),
    ...labelFaults(`${path}.device`, status.device ?? ""),
    ...shareFaults(`${path}.shareID`, status.shareID),
    ...(places.has(placeOf(status))
      ? []
      : [invalidError(path, shownPlace(status), "must be an allocated device in the claim")]),
    ...(conditions.length > MAX_DEVICE_CONDITIONS
      ? [tooManyError(`${path}.conditions`, conditions.length, MAX_DEVICE_CONDITIONS)]
      : []),
    ...conditionsFaults(`${path}.conditions`, conditions),
    ...(status.data === undefined || status.data === null ? [] : dataFaults(`${path}.data`, status.data)),
    ...networkFaults(`${path}.networkData`, status.networkData),
  ];
}

const STATUSES = ["False", "True", "Unknown"];
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const NO_REASON =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
const [MAX_REASON, MAX_MESSAGE] = [1024, 32 * 1024];

/** Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go (ValidateConditions) */
function conditionsFaults(path: string, conditions: readonly DeviceCondition[]): Faults {
  const types = new Set<string>();
  return conditions.flatMap((condition, index) => {
    const at = indexPath(path, index);
    const { type = "", status = "", observedGeneration = 0, lastTransitionTime, reason = "", message = "" } = condition;
    const isTwice = types.has(type);
    types.add(type);
    return [
      ...(isTwice ? [duplicateError(`${at}.type`, type)] : []),
      ...validateLabelName(type, `${at}.type`),
      ...(STATUSES.includes(status) ? [] : [notSupportedError(`${at}.status`, status, STATUSES)]),
      ...(observedGeneration < 0
        ? [invalidError(`${at}.observedGeneration`, observedGeneration, "must be greater than or equal to zero")]
        : []),
      ...((lastTransitionTime ?? null) === null ? [requiredError(`${at}.lastTransitionTime`)] : []),
      ...(reason === "" ? [requiredError(`${at}.reason`)] : []),
      ...(reason === "" || REASON.test(reason) ? [] : [invalidError(`${at}.reason`, reason, NO_REASON)]),
      ...(byteLength(reason) > MAX_REASON ? [tooLongError(`${at}.reason`, MAX_REASON)] : []),
      ...(byteLength(message) > MAX_MESSAGE ? [tooLongError(`${at}.message`, MAX_MESSAGE)] : []),
    ];
  });
}

const [MAX_INTERFACE, MAX_HARDWARE, MAX_ADDRESSES] = [256, 128, 16];

function networkFaults(path: string, data: AllocatedDeviceStatus["networkData"]): Faults {
  const { interfaceName = "", hardwareAddress = "", ips } = data ?? {};
  return [
    ...(byteLength(interfaceName) > MAX_INTERFACE ? [tooLongError(`${path}.interfaceName`, MAX_INTERFACE)] : []),
    ...(byteLength(hardwareAddress) > MAX_HARDWARE ? [tooLongError(`${path}.hardwareAddress`, MAX_HARDWARE)] : []),
    ...uniqueItemFaults(`${path}.ips`, ips, MAX_ADDRESSES, interfaceAddressFaults, (address) => address),
  ];
}

const LEADING_ZEROS = /(^|\.)0+(?=\d)/g;

/** An address with the length of its network, in the one form that Go writes. Source: k8s.io/apimachinery/pkg/util/validation/ip.go */
function interfaceAddressFaults(path: string, text: string): Faults {
  const plain = (text.includes(":") ? text : text.replaceAll(LEADING_ZEROS, "$1")).replace(/\/0+(?=\d)/, "/");
  if (!isCidr(plain)) {
    const why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
    return [invalidError(path, text, why)];
  }
  const { address, bits, size } = readNetwork(plain);
  const isMapped = size === 128 && address >> 32n === 0xffffn;
  const shown = new IpAddress(isMapped || size === 32 ? 4 : 6, isMapped ? address & 0xffff_ffffn : address).text;
  const canonical = `${shown}/${isMapped && bits > 32 ? bits - 96 : bits}`;
  return canonical === text ? [] : [invalidError(path, text, `must be in canonical form (${quoteGo(canonical)})`)];
}
