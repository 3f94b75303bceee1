// Names of resources that containers ask for, and that quotas and limits count.
// Source: k8s.io/kubernetes/pkg/apis/core/helper/helpers.go, pkg/apis/core/validation/validation.go (validateResourceName)

import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import { isQualifiedName } from "@postern/apimachinery/validation/string-validators";
import { qualifiedFaults } from "../field-checks.ts";

const CONTAINER = ["cpu", "memory", "ephemeral-storage"];
const COUNTS = [
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
];
const QUOTA = [
  ...CONTAINER,
  ...CONTAINER.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  ...COUNTS,
  "requests.storage",
];
const STANDARD = [...QUOTA, "storage"];

const isHugePages = (name: string): boolean => name.startsWith("hugepages-");
const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith("requests.hugepages-");
const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");

/** `example.com/gpu`: of a device. Such amounts are whole, and cannot be overcommitted. */
export const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith("requests.") && isQualifiedName(`requests.${name}`).length === 0;

/** Whether more may be promised than there is. */
export const mayBeOvercommitted = (name: string): boolean => isNative(name) && !isHugePages(name);

export const isWholeNumber = (name: string): boolean => COUNTS.includes(name) || isExtended(name);

export const isQuotaName = (name: string): boolean => QUOTA.includes(name) || isQuotaHugePages(name);

export function resourceNameFaults(path: string, name: string): readonly FieldError[] {
  const faults = qualifiedFaults(path, name);
  if (faults.length > 0 || name.includes("/") || STANDARD.includes(name) || isQuotaHugePages(name)) return faults;
  return [invalidError(path, name, "must be a standard resource type or fully qualified")];
}

export function containerResourceFaults(path: string, name: string): readonly FieldError[] {
  const faults = resourceNameFaults(path, name);
  if (!name.includes("/")) {
    const isKnown = CONTAINER.includes(name) || isHugePages(name);
    return isKnown ? faults : [...faults, invalidError(path, name, "must be a standard resource for containers")];
  }
  if (isNative(name) || isExtended(name)) return faults;
  return [...faults, invalidError(path, name, "doesn't follow extended resource name standard")];
}

export function quotaResourceFaults(path: string, name: string): readonly FieldError[] {
  const faults = resourceNameFaults(path, name);
  return name.includes("/") || isQuotaName(name)
    ? faults
    : [...faults, invalidError(path, name, "must be a standard resource for quota")];
}
