// Updates `status` of ResourceQuotas: limits and usage.
// Source: k8s.io/kubernetes/pkg/controller/resourcequota/resource_quota_controller.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { CacheView } from "@postern/apiserver/cache/watch-cache";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createTurns, inTurns } from "@postern/apiserver/runtime/in-slices";
import {
  amountText,
  type CountedResource,
  countedResource,
  countUsages,
  type UsageCount,
} from "../../builtin/quotas/counted-resources.ts";
import { type ScopeRequirement, scopesOf, scopesText } from "../../builtin/quotas/quota-scopes.ts";
import type { ResourceQuota } from "../../builtin/quotas/resource-quotas.ts";
import type { ServiceTotals } from "../../builtin/services/service-totals.ts";
import { retryLater } from "../workloads/workload-port.ts";

/** Follows the objects of a resource only while some quota limits it. */
export function createQuotaController(
  port: ControllerPort,
  quotas: InstalledResource,
  services: ServiceTotals,
): Controller {
  const { scheduler, clock } = port.runtime;
  /** Keys are namespaces: an object changes the counts of all quotas in its namespace, which may be very many. */
  const queue = new WorkQueue(port, { name: "resource_quota", process, concurrency: 1 });
  /** By the prefix of the resource. */
  const followed = new Map<string, { readonly view: CacheView; readonly following: Disposable }>();

  async function process(namespace: string, signal: AbortSignal): Promise<void> {
    while (services.ready() !== undefined) await services.ready();
    const pause = createTurns(clock);
    const counts = new Map<string, UsageCount>();
    const usedOf = async (
      name: string,
      counted: CountedResource,
      resource: ControlledResource,
      scopes: readonly ScopeRequirement[],
    ): Promise<bigint> => {
      if (counted.isSummed !== true) return counted.used(resource, namespace, services, scopes);
      // Quotas with the same scopes share it.
      const key = `${counted.resource.plural} ${scopesText(scopes)}`;
      const counting = (): Promise<UsageCount> =>
        inTurns(countUsages(counted, resource, namespace, [scopes], clock.now()), clock);
      const count = counts.get(key) ?? (await counting());
      counts.set(key, count);
      return count.amount(name, scopes);
    };
    const resources = new Map(port.resources.all.map((resource) => [nameOf(resource.definition), resource]));
    for (const { key } of quotas.view.list(quotas.keys.inNamespace(namespace))) {
      await pause();
      if (signal.aborted) return;
      // Stored objects have passed the schema of their kind.
      const quota = quotas.view.get(key)?.decode() as ResourceQuota | undefined;
      if (quota === undefined) continue;
      const used: Record<string, string> = {};
      const scopes = scopesOf(quota.spec ?? {});
      for (const name of Object.keys(quota.spec?.hard ?? {})) {
        const counted = countedResource(name);
        if (counted === undefined) continue;
        const resource = resources.get(nameOf(counted.resource));
        if (resource !== undefined) follow(resource);
        used[name] = amountText(name, resource === undefined ? 0n : await usedOf(name, counted, resource, scopes));
      }
      await pause();
      const status = { hard: quota.spec?.hard ?? {}, used };
      if (equalJson(quota.status ?? {}, status)) continue;
      const transform = (current: KubeObject): KubeObject => ({ ...current, status });
      await updateStatus(port, quotas, quota, transform, signal);
    }
    const changesAt = Math.min(...[...counts.values()].map((count) => count.changesAt));
    if (Number.isFinite(changesAt)) retryLater(queue, namespace, changesAt - clock.now());
  }

  /** A kind that is limited may come after its quota; one that changed has another view of its objects. */
  function recountAll(): void {
    const views = new Map(port.resources.all.map(({ keys, view }) => [keys.prefix, view]));
    for (const [prefix, { view, following }] of followed) {
      if (views.get(prefix) === view) continue;
      following[Symbol.dispose]();
      followed.delete(prefix);
    }
    for (const { key } of quotas.view.list(quotas.keys.prefix)) queue.add(quotas.keys.parse(key).namespace);
  }

  function follow({ view, keys }: ControlledResource): void {
    if (followed.has(keys.prefix)) return;
    const recount = (key: string): void => {
      const { namespace } = keys.parse(key);
      if (quotas.view.count(quotas.keys.inNamespace(namespace)) > 0) queue.add(namespace);
    };
    const following = followView({ view, prefix: keys.prefix }, scheduler, {
      // Those that are there have just been counted.
      put: (object) => recount(object.key),
      delete: (object) => recount(object.key),
    });
    followed.set(keys.prefix, { view, following });
  }

  const following = followKeys(quotas, scheduler, (key) => queue.add(quotas.keys.parse(key).namespace));
  const changes = port.resources.onChange(recountAll);
  const held = {
    [Symbol.dispose]() {
      changes[Symbol.dispose]();
      for (const each of followed.values()) each.following[Symbol.dispose]();
    },
  };
  return createQueueController(queue, [following, held]);
}

const nameOf = ({ group, plural }: { readonly group: string; readonly plural: string }): string => `${plural}.${group}`;
