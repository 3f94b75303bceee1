// The amounts that a pod or a claim uses of what quotas limit, by the names that quotas have for them, in billionths.
// Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core/{pods,persistent_volume_claims,resource_claims}.go

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { STORAGE_CLASS } from "../default-classes.ts";
import { listAt, numberAt, textAt } from "../workloads/json-members.ts";
import { containerAmounts, podAmounts } from "../workloads/pods/pod-resources.ts";
import { hasEnded, type Pod } from "../workloads/pods/pods.ts";
import { quantityText } from "./quantities.ts";
import { claimScopes, podScopes, type ScopeValues } from "./quota-scopes.ts";

export type ObjectUsage = {
  readonly amounts: ReadonlyMap<string, bigint>;
  readonly scopes: ScopeValues;
  /** It uses nothing from then on; milliseconds since the Unix epoch. */
  readonly endsAt?: number;
};

export const ONE = 1_000_000_000n;
const NOTHING: ObjectUsage = { amounts: new Map(), scopes: new Map() };
const COMPUTE = ["cpu", "memory", "ephemeral-storage"];
const CLASS_SUFFIX = ".storageclass.storage.k8s.io/";

/** A pod that has ended uses nothing, nor does one whose Node does not end it: long after its period new pods have its place. */
export function podUsage(object: KubeObject): ObjectUsage {
  const { spec, status, metadata } = object as Pod;
  if (hasEnded({ status })) return NOTHING;
  const amounts = new Map([["pods", ONE]]);
  for (const [name, amount] of podAmounts(spec, "requests")) {
    const isCompute = COMPUTE.includes(name);
    if (isCompute || name.startsWith("hugepages-")) amounts.set(name, amount);
    if (isCompute || name.startsWith("hugepages-") || name.includes("/")) amounts.set(`requests.${name}`, amount);
  }
  for (const [name, amount] of podAmounts(spec, "limits")) {
    if (COMPUTE.includes(name)) amounts.set(`limits.${name}`, amount);
  }
  const { deletionTimestamp, deletionGracePeriodSeconds: period } = metadata;
  const end = parseTimestamp(deletionTimestamp ?? "");
  const endsAt = end === undefined || period === undefined ? {} : { endsAt: end + Number(period) * 1000 };
  return { amounts, scopes: podScopes(spec), ...endsAt };
}

type Claim = {
  readonly spec?: {
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: { readonly [resource: string]: JsonValue } };
  };
  readonly status?: { readonly allocatedResources?: { readonly [resource: string]: JsonValue } };
};

export function claimUsage(object: KubeObject): ObjectUsage {
  const { spec, status } = object as Claim;
  const amountOf = (value: JsonValue | undefined): bigint => {
    const amount = parseAmount(quantityText(value)) ?? 0n;
    return ((amount + ONE - 1n) / ONE) * ONE;
  };
  const asked = amountOf(spec?.resources?.requests?.["storage"]);
  const allocated = amountOf(status?.allocatedResources?.["storage"]);
  const [storage = asked] = [asked, allocated].toSorted((one, other) => (one > other ? -1 : 1));
  const amounts = new Map([
    ["persistentvolumeclaims", ONE],
    ["requests.storage", storage],
  ]);
  const storageClass = object.metadata.annotations?.[STORAGE_CLASS.annotation] ?? spec?.storageClassName ?? "";
  if (storageClass !== "") {
    for (const [name, amount] of [...amounts]) amounts.set(`${storageClass}${CLASS_SUFFIX}${name}`, amount);
  }
  return { amounts, scopes: claimScopes(object) };
}

const DEVICES_SUFFIX = ".deviceclass.resource.k8s.io/devices";
/** As many as an allocation may have. */
const ALL_DEVICES = 32n;

/** The devices of each class: of alternatives, the most that one of them asks for. Claims of a definition of an earlier release are unchecked. */
export function resourceClaimUsage({ spec }: KubeObject & { readonly spec?: JsonValue }): ObjectUsage {
  const amounts = new Map<string, bigint>();
  const devices = isJsonObject(spec) ? spec["devices"] : undefined;
  for (const request of listAt(devices, "requests")) {
    for (const [name, amount] of requestedDevices(request)) amounts.set(name, (amounts.get(name) ?? 0n) + amount);
  }
  return { amounts, scopes: new Map() };
}

function requestedDevices(request: JsonValue): ReadonlyMap<string, bigint> {
  const exactly = isJsonObject(request) ? request["exactly"] : undefined;
  const most = new Map<string, bigint>();
  for (const alternative of exactly === undefined ? listAt(request, "firstAvailable") : [exactly]) {
    const name = `${textAt(alternative, "deviceClassName")}${DEVICES_SUFFIX}`;
    const count = numberAt(alternative, "count") ?? 0;
    const isAll = textAt(alternative, "allocationMode") === "All";
    const amount = (isAll ? ALL_DEVICES : BigInt(Number.isSafeInteger(count) ? count : 0)) * ONE;
    if (amount > (most.get(name) ?? 0n)) most.set(name, amount);
  }
  return most;
}

/** Resources that each container of a pod has to name where a quota limits them. */
const REQUIRED = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

/**
 * Names what a pod leaves out of limited resources: `must specify limits.cpu for: c1`; undefined where nothing is missing. The containers are looked at
 * once, for all quotas.
 */
export function createMissingResources({ spec }: Pod): (limited: readonly string[]) => string | undefined {
  if ((spec as { readonly resources?: object } | undefined)?.resources !== undefined) return () => undefined;
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const amounts = containers.map((container) => ({
    name: container.name,
    requests: containerAmounts(container, "requests"),
    limits: containerAmounts(container, "limits"),
  }));
  const missing = REQUIRED.toSorted().flatMap((name) => {
    const field = name.startsWith("limits.") ? "limits" : "requests";
    const resource = name.replace(/^(limits|requests)\./, "");
    const names = amounts.filter((each) => !each[field].has(resource)).map((container) => container.name);
    return names.length === 0 ? [] : [{ name, text: `${name} for: ${names.toSorted().join(",")}` }];
  });
  return (limited) => {
    const texts = missing.filter(({ name }) => limited.includes(name)).map(({ text }) => text);
    return texts.length === 0 ? undefined : `must specify ${texts.join("; ")}`;
  };
}
