// Refuses what would be one object too many for a namespace.
// Source: k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go

import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { ServiceTotals } from "../services/service-totals.ts";
import type { Pod } from "../workloads/pods/pods.ts";
import {
  amountText,
  type CountedResource,
  countedResource,
  counts,
  countUsages,
  ObjectUsages,
} from "./counted-resources.ts";
import { createMissingResources } from "./object-usage.ts";
import { createPendingObjects } from "./pending-objects.ts";
import { quantityText } from "./quantities.ts";
import { matchesScopes, podScopes, type ScopeRequirement, scopesOf, scopesText } from "./quota-scopes.ts";
import type { ResourceQuota } from "./resource-quotas.ts";

type QuotaAdmissionDeps = {
  readonly quotas: () => InstalledResource;
  readonly registry: Pick<ResourceRegistry, "find">;
  readonly services: ServiceTotals;
  /** Milliseconds that never go back. */
  readonly elapsed: () => number;
};

/** Looking at one that is known takes as long as so much of a body. */
const BYTES_OF_QUOTA = 1_024;

type Limit = {
  readonly name: string;
  readonly hard: bigint;
  readonly counted: CountedResource;
  readonly scopes: readonly ScopeRequirement[];
  /** The name, and the scopes. */
  readonly key: string;
};
/** A limit of a quota on what the request makes, and how much of it that is. */
type Wanted = Limit & { readonly quota: string; readonly amount: bigint };

/**
 * Counts the stored objects and those in progress; upstream counts in the status of the quota, which costs a write. Objects are counted without being
 * read, since a namespace may have very many; pods and claims are read once each, where a quota limits what they ask for.
 */
export function createQuotaAdmission({ quotas, registry, services, elapsed }: QuotaAdmissionDeps): AdmissionPlugin {
  const pending = createPendingObjects(elapsed);
  /** Limits by quota, each parsed once. */
  const read = new WeakMap<CachedObject, readonly Limit[]>();

  function limitsOf(cached: CachedObject): readonly Limit[] {
    // Stored objects have passed the schema of the kind.
    const known = read.get(cached) ?? readLimits(cached.decode() as ResourceQuota);
    read.set(cached, known);
    return known;
  }

  return {
    name: "ResourceQuota",

    async validate(attributes) {
      const { operation, namespace, subresource, object, oldObject, resource, dryRun, context } = attributes;
      if ((operation !== "create" && operation !== "update") || namespace === "") return;
      if (subresource !== "" || object === undefined) return;
      const { view, keys } = quotas();
      const installed = registry.find(resource.group, resource.version, resource.plural);
      const all = view.list(keys.inNamespace(namespace));
      if (installed === undefined || all.length === 0) return;
      context.weigh(all.length * BYTES_OF_QUOTA);
      const usages = new ObjectUsages();
      const required = requiredOf(attributes);
      /** The lowest limit by name and scopes: quotas may be very many, and the names that count one resource are few. */
      const wanted = new Map<string, Wanted>();
      for (const cached of all) {
        await context.pause();
        const limits = limitsOf(cached).filter(({ counted }) => counts(counted, resource));
        const missing = required?.(limits);
        if (missing !== undefined) {
          throw forbiddenByAdmission(attributes, `failed quota: ${keys.parse(cached.key).name}: ${missing}`);
        }
        for (const limit of limits) {
          const { key, counted, hard, scopes } = limit;
          if (hard >= (wanted.get(key)?.hard ?? hard + 1n)) continue;
          const before = oldObject === undefined ? 0n : counted.amountOf(oldObject, scopes, usages);
          const amount = counted.amountOf(object, scopes, usages) - before;
          if (amount > 0n) wanted.set(key, { ...limit, amount, quota: cached.key });
        }
      }
      if (wanted.size === 0) return;
      while (services.ready() !== undefined) await services.ready();
      const looked = [...wanted.values()].filter(({ counted }) => counted.isSummed);
      const [first] = looked;
      const scopes = looked.map((each) => each.scopes);
      const counting = first && countUsages(first.counted, installed, namespace, scopes, context.receivedAt);
      const count = counting && (await context.inParts(counting));
      // Nothing is awaited from here on: counting and reserving happen together.
      count?.catchUp();
      const exceeded: (Wanted & { readonly used: bigint })[] = [];
      for (const each of wanted.values()) {
        const { counted, name, key } = each;
        const stored = counted.isSummed
          ? (count?.amount(name, each.scopes) ?? 0n)
          : counted.used(installed, namespace, services, each.scopes);
        const used = stored + pending.amount(installed, namespace, key);
        if (used + each.amount > each.hard) exceeded.push({ ...each, used });
      }
      const [worst] = exceeded;
      if (worst !== undefined) {
        const { name } = keys.parse(worst.quota);
        throw tooMany(
          name,
          exceeded.filter(({ quota }) => quota === worst.quota).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
          attributes,
        );
      }
      const amounts = new Map([...wanted.values()].map(({ key, amount }) => [key, amount]));
      if (!dryRun) pending.add(installed, object, amounts);
    },
  };
}

function readLimits({ spec = {} }: ResourceQuota): readonly Limit[] {
  const scopes = scopesOf(spec);
  const suffix = scopesText(scopes);
  return Object.entries(spec.hard ?? {}).flatMap(([name, text]) => {
    const counted = countedResource(name);
    const hard = parseAmount(quantityText(text));
    return counted === undefined || hard === undefined
      ? []
      : [{ name, hard, counted, scopes, key: `${name} ${suffix}` }];
  });
}

/** For a new pod: what it leaves out of the resources that a quota limits. Other objects need not name any. */
function requiredOf({
  resource,
  operation,
  object,
}: AdmissionAttributes): ((limits: readonly Limit[]) => string | undefined) | undefined {
  if (operation !== "create" || resource.group !== "" || resource.plural !== "pods" || object === undefined) return;
  // A pod has passed its schema before admission sees it.
  const pod = object as Pod;
  const has = podScopes(pod.spec);
  const missing = createMissingResources(pod);
  return (limits) => {
    const [first] = limits;
    if (first === undefined || !matchesScopes(first.scopes, has)) return undefined;
    return missing(limits.map(({ name }) => name));
  };
}

function tooMany(
  quota: string,
  exceeded: readonly (Wanted & { readonly used: bigint })[],
  attributes: AdmissionAttributes,
): Error {
  const list = (text: (each: Wanted & { readonly used: bigint }) => string) => exceeded.map(text).join(",");
  const requested = list(({ name, amount }) => `${name}=${amountText(name, amount)}`);
  const used = list(({ name, used }) => `${name}=${amountText(name, used)}`);
  const limited = list(({ name, hard }) => `${name}=${amountText(name, hard)}`);
  const why = `exceeded quota: ${quota}, requested: ${requested}, used: ${used}, limited: ${limited}`;
  return forbiddenByAdmission(attributes, why);
}
