// Totals over the Services of a cluster: addresses, ports on nodes, and the number of each type per namespace. Counted when first asked for,
// and kept by watch from then on: a cluster may have very many.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { type FollowedInParts, followInParts } from "@postern/apiserver/cache/follow-in-parts";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { clusterIPOf, hasNodePorts, type Service, typeOf } from "./service.ts";

/** The amounts of one Service, by the names that quotas have for them. */
export const AMOUNTS = {
  "services.loadbalancers": (service: Pick<Service, "spec">): number => (typeOf(service) === "LoadBalancer" ? 1 : 0),
  "services.nodeports": (service: Pick<Service, "spec">): number =>
    hasNodePorts(service) ? (service.spec?.ports ?? []).length : 0,
} as const;
export type ServiceAmount = keyof typeof AMOUNTS;

export type ServiceTotals = Disposable & {
  /** Undefined where all Services have been counted. */
  ready(): Promise<void> | undefined;
  /** Whether a Service has this address, or this port on nodes. */
  has(value: string | number): boolean;
  /** Amount of all Services of a namespace. */
  amount(name: ServiceAmount, namespace: string): number;
};

const readSpec = createMemberReader({ metadata: { namespace: true }, spec: true });

export function createServiceTotals(
  of: ViewPrefix,
  runtime: { readonly clock: Pick<Runtime["clock"], "elapsed">; readonly scheduler: Runtime["scheduler"] },
): ServiceTotals {
  const totals = new Map<string | number, number>();
  let followed: FollowedInParts | undefined;
  let isDisposed = false;

  function add(key: string | number, amount: number): void {
    const total = (totals.get(key) ?? 0) + amount;
    if (total === 0) totals.delete(key);
    else totals.set(key, total);
  }

  function count(object: CachedObject, sign: 1 | -1): void {
    // Stored objects have passed the schema of their kind.
    const { metadata, spec } = object.read(readSpec) as unknown as Pick<Service, "metadata" | "spec">;
    const service = spec === undefined ? {} : { spec };
    const { namespace = "" } = metadata;
    add(clusterIPOf(service), sign);
    const ports = [...(spec?.ports ?? []).map(({ nodePort }) => nodePort), spec?.healthCheckNodePort];
    for (const port of ports) if (port !== undefined && port !== 0) add(port, sign);
    for (const [name, amountOf] of Object.entries(AMOUNTS)) add(`${name} ${namespace}`, sign * amountOf(service));
  }

  const follow = (): FollowedInParts => {
    followed ??= followInParts(of, runtime, {
      clear: () => totals.clear(),
      put(object, previous) {
        if (previous !== undefined) count(previous, -1);
        count(object, 1);
      },
      delete: (object) => count(object, -1),
    });
    return followed;
  };

  return {
    ready: () => (isDisposed ? undefined : follow().ready),
    has: (value) => totals.has(value),
    amount: (name, namespace) => totals.get(`${name} ${namespace}`) ?? 0,
    [Symbol.dispose]() {
      isDisposed = true;
      followed?.[Symbol.dispose]();
    },
  };
}
