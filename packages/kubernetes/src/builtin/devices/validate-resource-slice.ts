// Requirements of ResourceSlices: the devices of a node, or of a pool that several nodes reach.
// Source: k8s.io/kubernetes/pkg/apis/resource/validation/validation.go (ValidateResourceSlice)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import {
  invalidError,
  keyPath,
  notSupportedError,
  requiredError,
  tooLongError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabelName } from "@postern/apimachinery/validation/labels";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import { isValidLabelValue } from "@postern/apimachinery/validation/string-validators";
import { labelFaults, subdomainFaults, textFaults } from "../field-checks.ts";
import { listAt } from "../workloads/json-members.ts";
import { nodeSelectorFaults } from "../workloads/pods/validate-affinity.ts";
import {
  bindingConditionFaults,
  driverFaults,
  type Faults,
  itemFaults,
  memberNameFaults,
  poolFaults,
  uniqueItemFaults,
} from "./device-names.ts";
import type { CounterSet, Device, DeviceAttribute, DeviceTaint, ResourceSliceSpec } from "./device-objects.ts";
import { EFFECTS } from "./validate-device-claim.ts";
import { capacityFaults } from "./validate-request-policy.ts";

const MAX_DEVICES = 128;
/** Where a device has taints or counters. */
const MAX_LARGE_DEVICES = 64;
const MAX_COUNTER_SETS = 8;
const MAX_CONSUMED_SETS = 2;
const MAX_MEMBERS = 32;
const MAX_VALUES = 48;
const MAX_TAINTS = 16;

/** `old` is absent on create. */
export function resourceSliceFaults(spec: ResourceSliceSpec, old?: ResourceSliceSpec): Faults {
  const { driver = "", pool = {}, devices = [], sharedCounters } = spec;
  const isLarge = devices.some(
    ({ taints = [], consumesCounters = [] }) => taints.length > 0 || consumesCounters.length > 0,
  );
  const before = new Map((old?.devices ?? []).toReversed().map((device) => [device.name ?? "", device]));
  return [
    ...driverFaults("spec.driver", driver),
    ...slicePoolFaults("spec.pool", pool),
    ...(old === undefined
      ? []
      : [
          ...validateImmutable(pool.name ?? "", old.pool?.name ?? "", "spec.pool.name"),
          ...validateImmutable(driver, old.driver ?? "", "spec.driver"),
          ...validateImmutable(spec.nodeName ?? null, old.nodeName ?? null, "spec.nodeName"),
        ]),
    ...sliceNodeFaults("spec", spec),
    ...(sharedCounters !== undefined && spec.devices !== undefined
      ? [invalidError("spec", "", "only one of `sharedCounters` or `devices` is allowed")]
      : []),
    ...uniqueItemFaults(
      "spec.devices",
      devices,
      isLarge ? MAX_LARGE_DEVICES : MAX_DEVICES,
      (at, device) => deviceFaults(at, device, before.get(device.name ?? ""), spec.perDeviceNodeSelection === true),
      ({ name = "" }) => name,
    ),
    ...uniqueItemFaults(
      "spec.sharedCounters",
      sharedCounters,
      MAX_COUNTER_SETS,
      (at, { name = "", counters }) => counterSetFaults(at, "name", name, counters),
      ({ name = "" }) => name,
    ),
  ];
}

function slicePoolFaults(
  path: string,
  { name = "", generation = 0, resourceSliceCount = 0 }: NonNullable<ResourceSliceSpec["pool"]>,
): Faults {
  return [
    ...poolFaults(`${path}.name`, name),
    ...(resourceSliceCount > 0
      ? []
      : [invalidError(`${path}.resourceSliceCount`, resourceSliceCount, "must be greater than zero")]),
    ...(generation < 0
      ? [invalidError(`${path}.generation`, generation, "must be greater than or equal to zero")]
      : []),
  ];
}

const ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

function sliceNodeFaults(
  path: string,
  { nodeName, nodeSelector, allNodes, perDeviceNodeSelection }: ResourceSliceSpec,
): Faults {
  const set = [
    ...(nodeName ? ["`nodeName`"] : []),
    ...(nodeSelector === undefined ? [] : ["`nodeSelector`"]),
    ...(allNodes === true ? ["`allNodes`"] : []),
    ...(perDeviceNodeSelection === true ? ["`perDeviceNodeSelection`"] : []),
  ];
  const terms = listAt(nodeSelector, "nodeSelectorTerms");
  return [
    ...nodeNameFaults(`${path}.nodeName`, nodeName, "must be either unset or set to a non-empty string"),
    ...nodeSelectorFaults(nodeSelector, `${path}.nodeSelector`),
    ...(nodeSelector === undefined || terms.length === 1
      ? []
      : [
          invalidError(
            `${path}.nodeSelector.nodeSelectorTerms`,
            nodeSelector["nodeSelectorTerms"] ?? null,
            "must have exactly one node selector term",
          ),
        ]),
    ...trueFaults(`${path}.allNodes`, allNodes),
    ...trueFaults(`${path}.perDeviceNodeSelection`, perDeviceNodeSelection),
    ...(set.length === 0 ? [requiredError(path, ONE_PLACE)] : []),
    ...(set.length > 1 ? [invalidError(path, `{${set.join(", ")}}`, `${ONE_PLACE}, but multiple fields are set`)] : []),
  ];
}

function nodeNameFaults(path: string, name: string | undefined, whyNotEmpty: string): Faults {
  if (name === undefined) return [];
  return name === "" ? [invalidError(path, name, whyNotEmpty)] : subdomainFaults(path, name);
}

const trueFaults = (path: string, value: boolean | undefined): Faults =>
  value === false ? [invalidError(path, value, "must be either unset or set to true")] : [];

const ONE_DEVICE_PLACE =
  "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
const NO_DEVICE_PLACE =
  "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

function deviceNodeFaults(path: string, { nodeName, nodeSelector, allNodes }: Device, isSelected: boolean): Faults {
  if (!isSelected) {
    const isSet = nodeName !== undefined || nodeSelector !== undefined || allNodes !== undefined;
    return isSet ? [invalidError(path, null, NO_DEVICE_PLACE)] : [];
  }
  const set = [
    ...(nodeName ? ["`nodeName`"] : []),
    ...(nodeSelector === undefined ? [] : ["`nodeSelector`"]),
    ...(allNodes === true ? ["`allNodes`"] : []),
  ];
  return [
    ...nodeNameFaults(`${path}.nodeName`, nodeName, "must not be empty"),
    ...nodeSelectorFaults(nodeSelector, `${path}.nodeSelector`),
    ...trueFaults(`${path}.allNodes`, allNodes),
    ...(set.length === 0 ? [requiredError(path, ONE_DEVICE_PLACE)] : []),
    ...(set.length > 1 ? [invalidError(path, `{${set.join(", ")}}`, ONE_DEVICE_PLACE)] : []),
  ];
}

function deviceFaults(path: string, device: Device, old: Device | undefined, isPlacedAlone: boolean): Faults {
  const { name = "", attributes = {}, capacity = {}, taints = [] } = device;
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  const values = Object.keys(attributes).length;
  const keepsTaints = old !== undefined && equalJson((old.taints ?? []) as JsonValue, taints as JsonValue);
  return [
    ...labelFaults(`${path}.name`, name),
    ...(count > MAX_MEMBERS
      ? [invalidError(path, count, `the total number of attributes and capacities must not exceed ${MAX_MEMBERS}`)]
      : []),
    ...(values > MAX_VALUES
      ? [invalidError(path, values, `the total number of attribute values must not exceed ${MAX_VALUES}`)]
      : []),
    ...memberFaults(`${path}.attributes`, attributes, attributeFaults),
    ...memberFaults(`${path}.capacity`, capacity, (at, each) =>
      capacityFaults(at, each, device.allowMultipleAllocations === true),
    ),
    ...(keepsTaints ? [] : itemFaults(`${path}.taints`, taints, MAX_TAINTS, taintFaults)),
    ...uniqueItemFaults(
      `${path}.consumesCounters`,
      device.consumesCounters,
      MAX_CONSUMED_SETS,
      (at, { counterSet = "", counters }) => counterSetFaults(at, "counterSet", counterSet, counters),
      ({ counterSet = "" }) => counterSet,
    ),
    ...deviceNodeFaults(path, device, isPlacedAlone),
    ...bindingConditionFaults(path, device),
  ];
}

/** A domain, a slash and an identifier. */
const MAX_SHOWN_NAME = 63 + 1 + 32;

const memberFaults = <T>(
  path: string,
  members: { readonly [name: string]: T },
  check: (path: string, member: T) => Faults,
): Faults =>
  Object.entries(members).flatMap(([name, member]) => [
    ...memberNameFaults(path, name),
    ...check(keyPath(path, shortened(name, MAX_SHOWN_NAME)), member),
  ]);

function shortened(text: string, max: number): string {
  if (text.length <= max) return text;
  const rest = max - "...".length;
  return `${text.slice(0, Math.ceil(rest / 2))}...${text.slice(text.length - Math.floor(rest / 2))}`;
}

const MAX_VALUE = 64;
const CORE = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;
const PRERELEASE = /^(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)$/;
const BUILD = /^[0-9a-zA-Z-]+$/;

/**
 * One expression for all of it would exhaust its stack on a text of very many parts.
 * Source: https://semver.org/spec/v2.0.0.html
 */
function isSemver(text: string): boolean {
  const [version, build] = cutAt(text, "+");
  const [core, prerelease] = cutAt(version, "-");
  const holds = (parts: string | undefined, pattern: RegExp): boolean =>
    parts === undefined || parts.split(".").every((part) => pattern.test(part));
  return CORE.test(core) && holds(prerelease, PRERELEASE) && holds(build, BUILD);
}

function cutAt(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function attributeFaults(path: string, attribute: DeviceAttribute): Faults {
  const { string: text, version } = attribute;
  const count = [attribute.bool, attribute.int, text, version].filter((value) => value !== undefined).length;
  const long = (member: string, value = ""): Faults =>
    byteLength(value) > MAX_VALUE ? [tooLongError(`${path}.${member}`, MAX_VALUE)] : [];
  return [
    ...long("string", text),
    ...(version === undefined || isSemver(version)
      ? []
      : [invalidError(`${path}.version`, version, "must be a string compatible with semver.org spec 2.0.0")]),
    ...long("version", version),
    ...(count === 1
      ? []
      : [invalidError(path, count === 0 ? "" : (attribute as JsonValue), "exactly one value must be specified")]),
  ];
}

function taintFaults(path: string, { key = "", value = "", effect = "" }: DeviceTaint): Faults {
  return [
    ...validateLabelName(key, `${path}.key`),
    ...(value === "" ? [] : textFaults(`${path}.value`, value, isValidLabelValue)),
    ...(effect === "" ? [requiredError(`${path}.effect`)] : []),
    ...(effect === "" || EFFECTS.includes(effect) ? [] : [notSupportedError(`${path}.effect`, effect, EFFECTS)]),
  ];
}

function counterSetFaults(path: string, member: string, name: string, counters: CounterSet["counters"] = {}): Faults {
  const [at, names] = [`${path}.counters`, Object.keys(counters)];
  return [
    ...(name === "" ? [requiredError(`${path}.${member}`)] : labelFaults(`${path}.${member}`, name)),
    ...(names.length === 0 ? [requiredError(at)] : []),
    ...(names.length > MAX_MEMBERS
      ? [tooManyError(at, names.length, MAX_MEMBERS)]
      : names.flatMap((counter) => labelFaults(at, counter))),
  ];
}
