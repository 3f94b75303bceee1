// Refuses what would be one object too many for a namespace.
// Source: k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { forbiddenByAdmission } from "../../admission/forbidden-by-admission.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "../../registry/admission-plugin.ts";
import type { InstalledResource, ResourceRegistry } from "../../registry/resource-registry.ts";
import { type CountedResource, countedResource, counts } from "./counted-resources.ts";
import { createPendingObjects } from "./pending-objects.ts";
import { parseAmount, quantityText } from "./quantities.ts";
import type { ResourceQuota } from "./resource-quotas.ts";

type QuotaAdmissionDeps = {
  readonly quotas: () => InstalledResource;
  readonly registry: Pick<ResourceRegistry, "find">;
  /** Milliseconds that never go back. */
  readonly elapsed: () => number;
};

/** Counts what is there and what is on its way there; upstream counts in the status of the quota, at the price of a write. */
export function createQuotaAdmission({ quotas, registry, elapsed }: QuotaAdmissionDeps): AdmissionPlugin {
  const pending = createPendingObjects(elapsed);
  return {
    name: "ResourceQuota",

    validate(attributes) {
      const { operation, namespace, subresource, object, resource, dryRun } = attributes;
      if (operation !== "create" || namespace === "" || subresource !== "" || object === undefined) return;
      const { view, keys } = quotas();
      const installed = registry.find(resource.group, resource.version, resource.plural);
      if (installed === undefined) return;
      let isLimited = false;
      for (const cached of view.list(keys.inNamespace(namespace))) {
        // What the store holds has gone through the schema of the kind.
        const quota = cached.decode() as ResourceQuota;
        const limits = limitsOf(quota, resource, object);
        if (limits.length === 0) continue;
        isLimited = true;
        const there = [...objectsIn(installed, namespace), ...pending.in(installed, namespace)];
        refuseTooMany(quota, limits, there, attributes);
      }
      if (isLimited && !dryRun) pending.add(installed, object);
    },
  };
}

/** The objects of a resource in a namespace, as memory has them. */
export const objectsIn = (
  { view, keys }: Pick<InstalledResource, "view" | "keys">,
  namespace: string,
): readonly KubeObject[] => view.list(keys.inNamespace(namespace)).map((object) => object.decode());

const NANO = 1_000_000_000n;

type Limit = {
  readonly name: string;
  readonly hard: bigint;
  readonly counted: CountedResource;
  readonly amount: number;
};

const limitsOf = (
  quota: ResourceQuota,
  resource: AdmissionAttributes["resource"],
  object: KubeObject,
): readonly Limit[] =>
  Object.entries(quota.spec?.hard ?? {}).flatMap(([name, text]) => {
    const counted = countedResource(name);
    const hard = parseAmount(quantityText(text));
    if (counted === undefined || hard === undefined || !counts(counted, resource)) return [];
    const amount = counted.amountOf(object);
    return amount > 0 ? [{ name, hard, counted, amount }] : [];
  });

function refuseTooMany(
  { metadata }: ResourceQuota,
  limits: readonly Limit[],
  there: readonly KubeObject[],
  attributes: AdmissionAttributes,
): void {
  const exceeded = limits.flatMap(({ name, hard, counted, amount }) => {
    const used = there.reduce((sum, object) => sum + counted.amountOf(object), 0);
    if (BigInt(used + amount) * NANO <= hard) return [];
    return [{ requested: `${name}=${amount}`, used: `${name}=${used}`, limited: `${name}=${hard / NANO}` }];
  });
  if (exceeded.length === 0) return;
  const list = (part: "requested" | "used" | "limited") => exceeded.map((each) => each[part]).join(",");
  const why = `exceeded quota: ${metadata.name}, requested: ${list("requested")}, used: ${list("used")}, limited: ${list("limited")}`;
  throw forbiddenByAdmission(attributes, why);
}
