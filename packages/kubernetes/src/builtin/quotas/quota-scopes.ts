// The scopes of a ResourceQuota: which pods and claims it counts.
// Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core/{pods,persistent_volume_claims}.go

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { PodSpec } from "../workloads/pods/pod-fields.ts";
import { qosClassOf } from "../workloads/pods/pod-resources.ts";
import type { QuotaSpec } from "./validate-resource-quota.ts";

export type ScopeRequirement = {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[];
};

/** The values of an object by scope; it has no scope that is absent. */
export type ScopeValues = ReadonlyMap<string, readonly string[]>;

/** Scopes by name, and those of the selector; all of them have to match. */
export const scopesOf = ({ scopes = [], scopeSelector }: QuotaSpec): readonly ScopeRequirement[] => [
  ...scopes.map((scopeName) => ({ scopeName, operator: "Exists" })),
  ...(scopeSelector?.matchExpressions ?? []),
];

/** The same text for the same scopes. */
export const scopesText = (scopes: readonly ScopeRequirement[]): string =>
  scopes.map(({ scopeName, operator, values = [] }) => `${scopeName} ${operator} ${values.join(",")}`).join(";");

export const matchesScopes = (scopes: readonly ScopeRequirement[], has: ScopeValues): boolean =>
  scopes.every(({ scopeName, operator, values = [] }) => {
    const own = has.get(scopeName);
    const isAmong = own?.some((value) => values.includes(value)) === true;
    switch (operator) {
      case "In":
        return isAmong;
      case "NotIn":
        return !isAmong && scopeName !== "";
      case "Exists":
        return own !== undefined;
      default:
        return own === undefined;
    }
  });

const PRESENT: readonly string[] = [];

export function podScopes(spec: PodSpec = {}): ScopeValues {
  const terminates = (spec.activeDeadlineSeconds ?? -1) >= 0;
  const { priorityClassName = "" } = spec;
  return new Map<string, readonly string[]>([
    [terminates ? "Terminating" : "NotTerminating", PRESENT],
    [qosClassOf(spec) === "BestEffort" ? "BestEffort" : "NotBestEffort", PRESENT],
    ...(priorityClassName === "" ? [] : [["PriorityClass", [priorityClassName]] as const]),
    ...(looksElsewhere(spec.affinity as JsonValue | undefined)
      ? [["CrossNamespacePodAffinity", PRESENT] as const]
      : []),
  ]);
}

/** A term of an affinity that names namespaces, or selects them. */
function looksElsewhere(affinity: JsonValue | undefined): boolean {
  if (isJsonArray(affinity)) return affinity.some(looksElsewhere);
  if (!isJsonObject(affinity)) return false;
  if (affinity["topologyKey"] !== undefined) {
    const { namespaces, namespaceSelector } = affinity;
    return namespaceSelector !== undefined || (isJsonArray(namespaces) && namespaces.length > 0);
  }
  return [
    "podAffinity",
    "podAntiAffinity",
    "podAffinityTerm",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
  ].some((member) => looksElsewhere(affinity[member]));
}

type Claim = {
  readonly spec?: { readonly volumeAttributesClassName?: string };
  readonly status?: {
    readonly currentVolumeAttributesClassName?: string;
    readonly modifyVolumeStatus?: { readonly targetVolumeAttributesClassName?: string };
  };
};

/** The class that a claim has, the one it asks for, and the one that it is about to get. */
export function claimScopes(object: KubeObject): ScopeValues {
  const { spec, status } = object as Claim;
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name) => name !== undefined && name !== "") as string[];
  return names.length === 0 ? new Map() : new Map([["VolumeAttributesClass", names]]);
}
