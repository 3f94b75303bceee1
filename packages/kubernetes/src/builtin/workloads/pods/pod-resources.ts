// The sums that a pod asks for, and its class of service by them.
// Source: k8s.io/component-helpers/resource/helpers.go, k8s.io/kubernetes/pkg/apis/core/helper/qos/qos.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import { quantityText } from "../../quotas/quantities.ts";
import type { Container, PodSpec } from "./pod-fields.ts";

/** In billionths, by resource. */
export type Amounts = ReadonlyMap<string, bigint>;
export type ResourceField = "requests" | "limits";

/** Resources that a pod may also give for all its containers together. */
const POD_LEVEL = /^(cpu|memory|hugepages-.*)$/;

export const amountsOf = (list: { readonly [resource: string]: JsonValue } | undefined): Amounts =>
  // Bodies with other texts have been refused by now.
  new Map(Object.entries(list ?? {}).map(([name, value]) => [name, parseAmount(quantityText(value)) ?? 0n]));

type Resources = Readonly<Partial<Record<ResourceField, { readonly [resource: string]: JsonValue }>>>;
const resourcesOf = (holder: { readonly resources?: unknown }): Resources => (holder.resources ?? {}) as Resources;

export const containerAmounts = (container: Container, field: ResourceField): Amounts =>
  amountsOf(resourcesOf(container)[field]);

function sum(...all: readonly Amounts[]): Amounts {
  const total = new Map<string, bigint>();
  for (const each of all) for (const [name, amount] of each) total.set(name, (total.get(name) ?? 0n) + amount);
  return total;
}

function highest(...all: readonly Amounts[]): Amounts {
  const top = new Map<string, bigint>();
  for (const each of all) {
    for (const [name, amount] of each) {
      const known = top.get(name);
      if (known === undefined || amount > known) top.set(name, amount);
    }
  }
  return top;
}

/** Containers run together; those that run before them have what is left of it, beside the sidecars that were started by then. */
export function podAmounts(spec: PodSpec | undefined, field: ResourceField): Amounts {
  const { containers = [], initContainers = [] } = spec ?? {};
  let together = sum(...containers.map((container) => containerAmounts(container, field)));
  let sidecars: Amounts = new Map();
  let before: Amounts = new Map();
  for (const container of initContainers) {
    const own = containerAmounts(container, field);
    if ((container as { readonly restartPolicy?: string }).restartPolicy === "Always") {
      together = sum(together, own);
      sidecars = sum(sidecars, own);
      before = highest(before, sidecars);
    } else before = highest(before, sum(own, sidecars));
  }
  const own = amountsOf(resourcesOf(spec ?? {})[field]);
  const total = new Map(highest(together, before));
  for (const [name, amount] of own) if (POD_LEVEL.test(name)) total.set(name, amount);
  return total;
}

const COMPUTE = ["cpu", "memory"];

/** The class of service of a pod with these resources. */
export function qosClassOf(spec: PodSpec | undefined): "Guaranteed" | "Burstable" | "BestEffort" {
  const { containers = [], initContainers = [] } = spec ?? {};
  const own = resourcesOf(spec ?? {});
  const isWhole = own.requests !== undefined || own.limits !== undefined;
  const parts = isWhole
    ? [{ requests: podAmounts(spec, "requests"), limits: podAmounts(spec, "limits") }]
    : [...containers, ...initContainers].map((container) => ({
        requests: containerAmounts(container, "requests"),
        limits: containerAmounts(container, "limits"),
      }));
  const given = (amounts: Amounts) => COMPUTE.filter((name) => (amounts.get(name) ?? 0n) > 0n);
  const isAny = parts.some(({ requests, limits }) => given(requests).length + given(limits).length > 0);
  if (!isAny) return "BestEffort";
  const isGuaranteed = parts.every(
    ({ requests, limits }) =>
      given(limits).length === COMPUTE.length &&
      COMPUTE.every((name) => (requests.get(name) ?? limits.get(name)) === limits.get(name)),
  );
  return isGuaranteed ? "Guaranteed" : "Burstable";
}
