// Requirements of the devices that a claim, a template or a class asks for.
// Source: k8s.io/kubernetes/pkg/apis/resource/validation/validation.go

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import {
  invalidError,
  notSupportedError,
  requiredError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabelName } from "@postern/apimachinery/validation/labels";
import { isValidLabelValue } from "@postern/apimachinery/validation/string-validators";
import { labelFaults, subdomainFaults, textFaults } from "../field-checks.ts";
import {
  driverFaults,
  type Faults,
  fullMemberNameFaults,
  itemFaults,
  itemFaultsInSteps,
  uniqueItemFaults,
  uniqueItemFaultsInSteps,
} from "./device-names.ts";
import type {
  DeviceClaim,
  DeviceConfiguration,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  DeviceToleration,
} from "./device-objects.ts";
import { createSelectorCheck, type SelectorCheck } from "./device-selector.ts";

/** Of requests, constraints, configurations and selectors alike. */
export const MAX_ITEMS = 32;
const MAX_ALTERNATIVES = 8;
const MAX_PARAMETERS = 10 * 1024;

/** Names of requests, each with those of its alternatives. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>;

export const requestNamesOf = ({ requests }: DeviceClaim = {}): RequestNames =>
  new Map(
    (requests ?? []).map(({ name = "", firstAvailable = [] }) => [
      name,
      new Set(firstAvailable.map((each) => each.name ?? "")),
    ]),
  );

export function* deviceClaimFaults(path: string, claim: DeviceClaim = {}): Steps<Faults> {
  const checkSelector = createSelectorCheck();
  const names = requestNamesOf(claim);
  return [
    ...(yield* uniqueItemFaultsInSteps(
      `${path}.requests`,
      claim.requests ?? [],
      MAX_ITEMS,
      (at, each) => requestFaults(at, each, checkSelector),
      ({ name = "" }) => name,
    )),
    ...itemFaults(`${path}.constraints`, claim.constraints, MAX_ITEMS, (at, each) => constraintFaults(at, each, names)),
    ...itemFaults(`${path}.config`, claim.config, MAX_ITEMS, (at, each) => [
      ...requestNamesFaults(`${at}.requests`, each.requests, names),
      ...configurationFaults(at, each),
    ]),
  ];
}

const ONE_FORM = "exactly one of `exactly` or `firstAvailable` is required";

function* requestFaults(
  path: string,
  { name = "", exactly, firstAvailable = [] }: DeviceRequest,
  checkSelector: SelectorCheck,
): Steps<Faults> {
  const named = labelFaults(`${path}.name`, name);
  if (exactly !== undefined && firstAvailable.length > 0) {
    return [...named, invalidError(path, null, `${ONE_FORM}, but multiple fields are set`)];
  }
  if (exactly !== undefined) return [...named, ...(yield* devicesFaults(`${path}.exactly`, exactly, checkSelector))];
  if (firstAvailable.length === 0) return [...named, requiredError(path, ONE_FORM)];
  return [
    ...named,
    ...(yield* uniqueItemFaultsInSteps(
      `${path}.firstAvailable`,
      firstAvailable,
      MAX_ALTERNATIVES,
      function* alternativeFaults(at, each) {
        return [...labelFaults(`${at}.name`, each.name ?? ""), ...(yield* devicesFaults(at, each, checkSelector))];
      },
      (each) => each.name ?? "",
    )),
  ];
}

function* devicesFaults(
  path: string,
  request: Omit<DeviceSubRequest, "name">,
  checkSelector: SelectorCheck,
): Steps<Faults> {
  const { deviceClassName = "", selectors, tolerations = [] } = request;
  return [
    ...(deviceClassName === ""
      ? [requiredError(`${path}.deviceClassName`)]
      : subdomainFaults(`${path}.deviceClassName`, deviceClassName)),
    ...(yield* itemFaultsInSteps(`${path}.selectors`, selectors, MAX_ITEMS, checkSelector)),
    ...modeFaults(path, request),
    ...itemFaults(`${path}.tolerations`, tolerations, tolerations.length, tolerationFaults),
  ];
}

function modeFaults(path: string, { allocationMode = "", count = 0 }: DeviceSubRequest): Faults {
  const at = `${path}.count`;
  switch (allocationMode) {
    case "All":
      return Number(count) === 0
        ? []
        : [invalidError(at, count, `must not be specified when allocationMode is '${allocationMode}'`)];
    case "ExactCount":
      return count > 0 ? [] : [invalidError(at, count, "must be greater than zero")];
    default:
      return [notSupportedError(`${path}.allocationMode`, allocationMode, ["All", "ExactCount"])];
  }
}

export const EFFECTS = ["NoExecute", "NoSchedule", "None"];

function tolerationFaults(
  path: string,
  { key = "", operator = "", value = "", effect = "" }: DeviceToleration,
): Faults {
  return [
    ...(key === "" ? [] : validateLabelName(key, `${path}.key`)),
    ...operatorFaults(path, operator, value),
    ...(effect === "" || EFFECTS.includes(effect) ? [] : [notSupportedError(`${path}.effect`, effect, EFFECTS)]),
  ];
}

function operatorFaults(path: string, operator: string, value: string): Faults {
  switch (operator) {
    case "Exists":
      return value === "" ? [] : [invalidError(`${path}.value`, value, "must be empty for operator `Exists`")];
    case "Equal":
      return textFaults(`${path}.value`, value, isValidLabelValue);
    case "":
      return [requiredError(`${path}.operator`)];
    default:
      return [notSupportedError(`${path}.operator`, operator, ["Equal", "Exists"])];
  }
}

function constraintFaults(
  path: string,
  { requests, matchAttribute, distinctAttribute }: DeviceConstraint,
  names: RequestNames,
): Faults {
  return [
    ...requestNamesFaults(`${path}.requests`, requests, names),
    ...(matchAttribute !== undefined
      ? fullMemberNameFaults(`${path}.matchAttribute`, matchAttribute)
      : distinctAttribute !== undefined
        ? fullMemberNameFaults(`${path}.distinctAttribute`, distinctAttribute)
        : [
            requiredError(
              path,
              'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
            ),
          ]),
  ];
}

export const requestNamesFaults = (
  path: string,
  requests: readonly string[] | undefined,
  names: RequestNames,
): Faults =>
  uniqueItemFaults(
    path,
    requests,
    MAX_ITEMS,
    (at, name) => requestNameFaults(at, name, names),
    (name) => name,
  );

const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/** `request` or `request/alternative` */
export function requestNameFaults(path: string, name: string, names: RequestNames): Faults {
  const segments = name.split("/");
  const unknown = invalidError(path, name, NO_REQUEST);
  if (segments.length > 2) return [unknown];
  const [request = "", alternative] = segments;
  const found = names.get(request);
  const isKnown = found !== undefined && (alternative === undefined || found.has(alternative));
  return [...segments.flatMap((each) => labelFaults(path, each)), ...(isKnown ? [] : [unknown])];
}

/** `isStored`: the parameters were there before, and may be longer than new ones. */
export function configurationFaults(path: string, { opaque }: DeviceConfiguration, isStored = false): Faults {
  if (opaque === undefined) return [requiredError(`${path}.opaque`)];
  return [
    ...driverFaults(`${path}.opaque.driver`, opaque.driver ?? ""),
    ...dataFaults(`${path}.opaque.parameters`, opaque.parameters, isStored),
  ];
}

/** Data of a driver: an object of limited size. */
export function dataFaults(path: string, data: JsonValue | undefined, isStored = false): Faults {
  if (data === undefined) return [requiredError(path)];
  if (!isStored && byteLength(stringifyJson(data)) > MAX_PARAMETERS) return [tooLongError(path, MAX_PARAMETERS)];
  if (data === null) return [requiredError(path)];
  return isJsonObject(data) ? [] : [invalidError(path, "<value omitted>", "must be a valid JSON object")];
}
