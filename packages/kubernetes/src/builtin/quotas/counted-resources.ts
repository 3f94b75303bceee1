// Amounts that the resources in a ResourceQuota count, by their names in quotas.
// Source: k8s.io/kubernetes/pkg/quota/v1/evaluator/core/registry.go, k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { canonicalQuantity } from "@postern/apimachinery/quantity/quantity";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { CacheView } from "@postern/apiserver/cache/watch-cache";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Service } from "../services/service.ts";
import { AMOUNTS, type ServiceAmount, type ServiceTotals } from "../services/service-totals.ts";
import { claimUsage, type ObjectUsage, ONE, podUsage, resourceClaimUsage } from "./object-usage.ts";
import { matchesScopes, type ScopeRequirement, scopesText } from "./quota-scopes.ts";

/** Kinds that quotas also know without `count/`. */
const PLAIN_NAMES = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets", "services"];

type Counted = Pick<ResourceDefinition, "group" | "plural">;
type CountedPlace = {
  readonly view: Pick<CacheView, "count" | "list">;
  readonly keys: Pick<ResourceKeys, "inNamespace">;
};
type Scopes = readonly ScopeRequirement[];

/** Amounts are in billionths. */
export type CountedResource = {
  readonly resource: Counted;
  /** How much one object counts for the limited resource, where it matches the scopes of the quota. */
  readonly amountOf: (object: KubeObject, scopes: Scopes, usages: ObjectUsages) => bigint;
  /** The amount of all objects of a namespace, as memory has them. */
  readonly used: (place: CountedPlace, namespace: string, services: ServiceTotals, scopes: Scopes) => bigint;
  /** The amount is a sum over objects, which `countUsages` forms for all names at once. Absent: `used` counts. */
  readonly isSummed?: true;
};

/** The objects of one request, with their usage: each is read once, however many quotas look at it, by hundreds of names. */
export class ObjectUsages {
  readonly #known = new Map<KubeObject, ObjectUsage>();

  of(object: KubeObject, { usageOf }: Summed): ObjectUsage {
    const known = this.#known.get(object) ?? usageOf(object);
    this.#known.set(object, known);
    return known;
  }
}

const SERVICES: Counted = { group: "", plural: "services" };
/** Only pods and claims of volumes have scopes. */
const isUnscoped = (scopes: Scopes): boolean => scopes.length === 0;
const eachOne = (resource: Counted): CountedResource => ({
  resource,
  amountOf: (_object, scopes) => (isUnscoped(scopes) ? ONE : 0n),
  used: ({ view, keys }, namespace, _services, scopes) =>
    isUnscoped(scopes) ? BigInt(view.count(keys.inNamespace(namespace))) * ONE : 0n,
});
const isServiceAmount = (name: string): name is ServiceAmount => Object.hasOwn(AMOUNTS, name);

type Summed = { readonly resource: Counted; readonly usageOf: (object: KubeObject) => ObjectUsage };
const PODS: Summed = { resource: { group: "", plural: "pods" }, usageOf: podUsage };
const CLAIMS: Summed = { resource: { group: "", plural: "persistentvolumeclaims" }, usageOf: claimUsage };
const DEVICES: Summed = {
  resource: { group: "resource.k8s.io", plural: "resourceclaims" },
  usageOf: resourceClaimUsage,
};

const usages = new WeakMap<CachedObject, ObjectUsage>();
function usageIn({ usageOf }: Summed, cached: CachedObject): ObjectUsage {
  const known = usages.get(cached) ?? usageOf(cached.decode());
  usages.set(cached, known);
  return known;
}

const amountIn = ({ amounts, scopes: has }: ObjectUsage, name: string, scopes: Scopes): bigint =>
  matchesScopes(scopes, has) ? (amounts.get(name) ?? 0n) : 0n;

const summed = (name: string, of: Summed): CountedResource => ({
  resource: of.resource,
  amountOf: (object, scopes, usages) => amountIn(usages.of(object, of), name, scopes),
  used: () => 0n,
  isSummed: true,
});

/** The sum of what all objects of a namespace ask for, by the scopes that it was made for. */
export type UsageCount = {
  amount(name: string, scopes: Scopes): bigint;
  /** When time alone changes the sum next; milliseconds since the Unix epoch, infinite where it does not. */
  readonly changesAt: number;
  /** Adds the writes since the count began, without a pause. Called once. */
  catchUp(): void;
};

/**
 * Counts for all names at once: a quota may limit hundreds of them, and a namespace have tens of thousands of pods. In steps, between which objects may
 * come and go. `now` in milliseconds since the Unix epoch.
 */
export function* countUsages(
  { resource }: CountedResource,
  { view, keys }: CountedPlace,
  namespace: string,
  all: readonly Scopes[],
  now: number,
): Steps<UsageCount> {
  const of = [PODS, DEVICES].find((each) => each.resource.plural === resource.plural) ?? CLAIMS;
  const prefix = keys.inNamespace(namespace);
  const sums = new Map(all.map((scopes) => [scopesText(scopes), { scopes, amounts: new Map<string, bigint>() }]));
  const add = (cached: CachedObject, sign: 1n | -1n): void => {
    const usage = usageIn(of, cached);
    const { endsAt = Number.POSITIVE_INFINITY } = usage;
    if (endsAt <= now) return;
    changesAt = Math.min(changesAt, endsAt);
    for (const { scopes, amounts } of sums.values()) {
      if (!matchesScopes(scopes, usage.scopes)) continue;
      for (const [name, amount] of usage.amounts) amounts.set(name, (amounts.get(name) ?? 0n) + sign * amount);
    }
  };
  let changesAt = Number.POSITIVE_INFINITY;
  const counted = new Set<CachedObject>();
  for (const cached of view.list(prefix)) {
    yield;
    counted.add(cached);
    add(cached, 1n);
  }
  return {
    get changesAt() {
      return changesAt;
    },
    amount: (name, scopes) => sums.get(scopesText(scopes))?.amounts.get(name) ?? 0n,
    catchUp() {
      for (const cached of view.list(prefix)) if (!counted.delete(cached)) add(cached, 1n);
      for (const gone of counted) add(gone, -1n);
    },
  };
}

const POD_NAMES =
  /^(pods|(requests\.|limits\.)?(cpu|memory|ephemeral-storage)|(requests\.)?hugepages-.*|requests\.[^/]+\/.*)$/;
const CLAIM_NAMES = /^(.+\.storageclass\.storage\.k8s\.io\/)?(persistentvolumeclaims|requests\.storage)$/;

const DEVICE_NAMES = /\.deviceclass\.resource\.k8s\.io\/devices$/;

/** Undefined for names that mean nothing here. */
export function countedResource(name: string): CountedResource | undefined {
  if (name.startsWith("count/")) {
    const [plural = "", ...group] = name.slice("count/".length).split(".");
    return eachOne({ plural, group: group.join(".") });
  }
  if (PLAIN_NAMES.includes(name)) return eachOne({ group: "", plural: name });
  if (CLAIM_NAMES.test(name)) return summed(name, CLAIMS);
  if (DEVICE_NAMES.test(name)) return summed(name, DEVICES);
  if (POD_NAMES.test(name)) return summed(name, PODS);
  if (!isServiceAmount(name)) return undefined;
  return {
    resource: SERVICES,
    // A Service has passed its schema before admission sees it.
    amountOf: (object, scopes) => (isUnscoped(scopes) ? BigInt(AMOUNTS[name](object as Service)) * ONE : 0n),
    used: (_place, namespace, services, scopes) =>
      isUnscoped(scopes) ? BigInt(services.amount(name, namespace)) * ONE : 0n,
  };
}

export const counts = ({ resource }: CountedResource, { group, plural }: Counted): boolean =>
  resource.group === group && resource.plural === plural;

/** Bytes are shown by powers of 1,024, all else by powers of 1,000. */
export function amountText(name: string, amount: bigint): string {
  // Most limits of most quotas have not been touched.
  if (amount === 0n) return "0";
  const isBytes = /memory|storage$|hugepages-/.test(name) && amount % (1024n * ONE) === 0n;
  return (isBytes ? canonicalQuantity(`${amount / (1024n * ONE)}Ki`) : canonicalQuantity(`${amount}n`)) ?? "0";
}
