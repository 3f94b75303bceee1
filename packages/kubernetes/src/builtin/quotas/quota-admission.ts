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
import { type CountedResource, countedResource, counts } from "./counted-resources.ts";
import { createPendingObjects } from "./pending-objects.ts";
import { quantityText } from "./quantities.ts";
import type { ResourceQuota } from "./resource-quotas.ts";

type QuotaAdmissionDeps = {
  readonly quotas: () => InstalledResource;
  readonly registry: Pick<ResourceRegistry, "find">;
  readonly services: ServiceTotals;
  /** Milliseconds that never go back. */
  readonly elapsed: () => number;
};

const NANO = 1_000_000_000n;
/** Looking at one that is known takes as long as so much of a body. */
const BYTES_OF_QUOTA = 1_024;

type Limit = { readonly name: string; readonly hard: bigint; readonly counted: CountedResource };
/** A limit of a quota on what the request makes, and how much of it that is. */
type Wanted = Limit & { readonly quota: string; readonly amount: number };

/**
 * Counts the stored objects and those in progress; upstream counts in the status of the quota, which costs a write. No object is read: a namespace
 * may have very many.
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
      /** The lowest limit by name: quotas may be very many, and the names that count one resource are few. */
      const wanted = new Map<string, Wanted>();
      for (const cached of all) {
        await context.pause();
        for (const limit of limitsOf(cached)) {
          const { name, counted, hard } = limit;
          if (!counts(counted, resource) || hard >= (wanted.get(name)?.hard ?? hard + 1n)) continue;
          const before = oldObject === undefined ? 0 : counted.amountOf(oldObject);
          const amount = counted.amountOf(object) - before;
          if (amount > 0) wanted.set(name, { ...limit, amount, quota: cached.key });
        }
      }
      if (wanted.size === 0) return;
      while (services.ready() !== undefined) await services.ready();
      // Nothing is awaited from here on: counting and reserving happen together.
      const exceeded: (Wanted & { readonly used: number })[] = [];
      for (const each of wanted.values()) {
        const used =
          each.counted.used(installed, namespace, services) + pending.amount(installed, namespace, each.name);
        if (BigInt(used + each.amount) * NANO > each.hard) exceeded.push({ ...each, used });
      }
      const [first] = exceeded;
      if (first !== undefined) {
        const { name } = keys.parse(first.quota);
        throw tooMany(
          name,
          exceeded.filter(({ quota }) => quota === first.quota),
          attributes,
        );
      }
      const amounts = new Map([...wanted.values()].map(({ name, amount }) => [name, amount]));
      if (!dryRun) pending.add(installed, object, amounts);
    },
  };
}

const readLimits = ({ spec }: ResourceQuota): readonly Limit[] =>
  Object.entries(spec?.hard ?? {}).flatMap(([name, text]) => {
    const counted = countedResource(name);
    const hard = parseAmount(quantityText(text));
    return counted === undefined || hard === undefined ? [] : [{ name, hard, counted }];
  });

function tooMany(
  quota: string,
  exceeded: readonly (Wanted & { readonly used: number })[],
  attributes: AdmissionAttributes,
): Error {
  const list = (text: (each: Wanted & { readonly used: number }) => string) => exceeded.map(text).join(",");
  const requested = list(({ name, amount }) => `${name}=${amount}`);
  const used = list(({ name, used }) => `${name}=${used}`);
  const limited = list(({ name, hard }) => `${name}=${hard / NANO}`);
  const why = `exceeded quota: ${quota}, requested: ${requested}, used: ${used}, limited: ${limited}`;
  return forbiddenByAdmission(attributes, why);
}
