// Requirements of where a pod may run, and as whom.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidateTolerations, validateTopologySpreadConstraints, ValidatePodSpec)

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabels } from "@postern/apimachinery/validation/labels";
import { addressFaults, choiceFaults, labelFaults, qualifiedFaults, subdomainFaults } from "../../field-checks.ts";
import { listAt, numberAt, objectAt, optionalObjectAt, optionalTextAt, textAt } from "../json-members.ts";
import { validateAffinity } from "./validate-affinity.ts";
import { idFaults, overheadFaults } from "./validate-containers.ts";

const MAX_DEADLINE = 2_147_483_647;

export function validateScheduling(spec: JsonObject, path: string): readonly FieldError[] {
  const deadline = numberAt(spec, "activeDeadlineSeconds");
  const named = (name: string, faults: typeof labelFaults): readonly FieldError[] => {
    const text = textAt(spec, name);
    return text === "" ? [] : faults(`${path}.${name}`, text);
  };
  const gates = listAt(spec, "schedulingGates").map((gate) => textAt(gate, "name"));
  return [
    ...validateLabels(textMap(objectAt(spec, "nodeSelector")), `${path}.nodeSelector`),
    ...securityFaults(objectAt(spec, "securityContext"), `${path}.securityContext`),
    ...validateAffinity(objectAt(spec, "affinity"), `${path}.affinity`),
    ...listAt(spec, "readinessGates").flatMap((gate, index) =>
      qualifiedFaults(`${indexPath(`${path}.readinessGates`, index)}.conditionType`, textAt(gate, "conditionType")),
    ),
    ...gates.flatMap((name, index) =>
      gates.indexOf(name) < index ? [duplicateError(indexPath(`${path}.schedulingGates`, index), name)] : [],
    ),
    ...listAt(spec, "topologySpreadConstraints").flatMap((each, index) =>
      spreadFaults(each, indexPath(`${path}.topologySpreadConstraints`, index)),
    ),
    ...hostnameFaults(spec, path),
    ...named("serviceAccountName", subdomainFaults),
    ...named("nodeName", subdomainFaults),
    ...(gates.length > 0 && textAt(spec, "nodeName") !== ""
      ? [forbiddenError(`${path}.nodeName`, "cannot be set until all schedulingGates have been cleared")]
      : []),
    ...(deadline !== undefined && (deadline < 1 || deadline > MAX_DEADLINE)
      ? [invalidError(`${path}.activeDeadlineSeconds`, deadline, `must be between 1 and ${MAX_DEADLINE}, inclusive`)]
      : []),
    ...named("hostname", labelFaults),
    ...named("subdomain", labelFaults),
    ...listAt(spec, "tolerations").flatMap((each, index) =>
      tolerationFaults(each, indexPath(`${path}.tolerations`, index)),
    ),
    ...listAt(spec, "hostAliases").flatMap((alias, index) =>
      aliasFaults(alias, indexPath(`${path}.hostAliases`, index)),
    ),
    ...named("priorityClassName", subdomainFaults),
    ...named("runtimeClassName", subdomainFaults),
    ...overheadFaults(objectAt(spec, "overhead"), `${path}.overhead`),
    ...systemFaults(optionalObjectAt(spec, "os"), `${path}.os`),
  ];
}

const SYSTEMS = ["linux", "windows"];

function systemFaults(system: JsonObject | undefined, path: string): readonly FieldError[] {
  if (system === undefined) return [];
  const name = textAt(system, "name");
  if (name === "") return [requiredError(`${path}.name`)];
  return choiceFaults(path, name, SYSTEMS);
}

const MAX_HOSTNAME = 64;

function hostnameFaults(spec: JsonObject, path: string): readonly FieldError[] {
  const name = optionalTextAt(spec, "hostnameOverride");
  if (name === undefined) return [];
  const at = `${path}.hostnameOverride`;
  return [
    ...(spec["setHostnameAsFQDN"] === true
      ? [forbiddenError(at, "may not be specified when setHostnameAsFQDN is true")]
      : []),
    ...(spec["hostNetwork"] === true ? [forbiddenError(at, "may not be specified when hostNetwork is true")] : []),
    ...(byteLength(name) > MAX_HOSTNAME ? [tooLongError(at, MAX_HOSTNAME)] : []),
    ...subdomainFaults(at, name),
  ];
}

const textMap = (map: JsonObject): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(map).map(([name, value]) => [name, typeof value === "string" ? value : ""]));

function securityFaults(context: JsonValue, path: string): readonly FieldError[] {
  const sysctls = listAt(context, "sysctls").map((each) => textAt(each, "name"));
  return [
    ...["fsGroup", "runAsUser", "runAsGroup"].flatMap((name) => idFaults(`${path}.${name}`, numberAt(context, name))),
    ...listAt(context, "supplementalGroups").flatMap((group, index) =>
      typeof group === "number" ? idFaults(indexPath(`${path}.supplementalGroups`, index), group) : [],
    ),
    ...sysctls.flatMap((name, index) =>
      sysctlFaults(`${indexPath(`${path}.sysctls`, index)}.name`, name, sysctls.indexOf(name) < index),
    ),
    ...choiceFaults(`${path}.fsGroupChangePolicy`, optionalTextAt(context, "fsGroupChangePolicy"), [
      "Always",
      "OnRootMismatch",
    ]),
  ];
}

const MAX_SYSCTL = 253;
const SYSCTL_FORM = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
/** A part of a name between its dots or slashes. */
const isSysctlPart = (part: string): boolean => /^[a-z0-9][-_a-z0-9]*$/.test(part) && /[a-z0-9]$/.test(part);

function sysctlFaults(path: string, name: string, isRepeated: boolean): readonly FieldError[] {
  if (name === "") return [requiredError(path)];
  if (name.length > MAX_SYSCTL || !name.split(/[./]/).every(isSysctlPart))
    return [invalidError(path, name, `must have at most ${MAX_SYSCTL} characters and match regex ${SYSCTL_FORM}`)];
  return isRepeated ? [duplicateError(path, name)] : [];
}

function spreadFaults(constraint: JsonValue, path: string): readonly FieldError[] {
  const skew = numberAt(constraint, "maxSkew") ?? 0;
  const key = textAt(constraint, "topologyKey");
  return [
    ...(skew <= 0 ? [invalidError(`${path}.maxSkew`, skew, "must be greater than zero")] : []),
    ...(key === "" ? [requiredError(`${path}.topologyKey`, "can not be empty")] : []),
    ...choiceFaults(`${path}.whenUnsatisfiable`, textAt(constraint, "whenUnsatisfiable"), [
      "DoNotSchedule",
      "ScheduleAnyway",
    ]),
    ...["nodeAffinityPolicy", "nodeTaintsPolicy"].flatMap((name) =>
      choiceFaults(`${path}.${name}`, optionalTextAt(constraint, name), ["Honor", "Ignore"]),
    ),
  ];
}

export const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const ALL = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';

export function tolerationFaults(toleration: JsonValue, path: string): readonly FieldError[] {
  const [key, operator, value] = [
    textAt(toleration, "key"),
    textAt(toleration, "operator"),
    textAt(toleration, "value"),
  ];
  const effect = textAt(toleration, "effect");
  return [
    ...(key === "" ? [] : qualifiedFaults(`${path}.key`, key)),
    ...(key === "" && operator !== "Exists" ? [invalidError(`${path}.operator`, operator, ALL)] : []),
    ...(numberAt(toleration, "tolerationSeconds") !== undefined && effect !== "NoExecute"
      ? [invalidError(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
      : []),
    ...(operator === "Exists" && value !== ""
      ? [invalidError(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'")]
      : []),
    ...(operator === "" ? [] : choiceFaults(`${path}.operator`, operator, ["Equal", "Exists"])),
    ...(effect === "" ? [] : choiceFaults(`${path}.effect`, effect, TAINT_EFFECTS)),
  ];
}

const aliasFaults = (alias: JsonValue, path: string): readonly FieldError[] => [
  ...addressFaults(`${path}.ip`, textAt(alias, "ip")),
  ...listAt(alias, "hostnames").flatMap((name, index) =>
    typeof name === "string" ? subdomainFaults(indexPath(`${path}.hostnames`, index), name) : [],
  ),
];
