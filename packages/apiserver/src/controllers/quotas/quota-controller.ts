// Keeps `status` of ResourceQuotas: what is limited, and how much of it is used.
// Source: k8s.io/kubernetes/pkg/controller/resourcequota/resource_quota_controller.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { countedResource } from "../../builtin/quotas/counted-resources.ts";
import { objectsIn } from "../../builtin/quotas/quota-admission.ts";
import type { ResourceQuota } from "../../builtin/quotas/resource-quotas.ts";
import { followView } from "../../cache/follow-view.ts";
import type { InstalledResource, ResourceRegistry } from "../../registry/resource-registry.ts";
import { ignoringConflicts, updateControlled } from "../controlled-objects.ts";
import type { Controller, ControllerPort } from "../controller-port.ts";
import { followKeys } from "../follow-keys.ts";
import { createQueueController } from "../queue-controller.ts";
import { WorkQueue } from "../work-queue.ts";

/** Follows the objects of a resource only while some quota limits it. */
export function createQuotaController(
  port: ControllerPort,
  quotas: InstalledResource,
  registry: Pick<ResourceRegistry, "resources">,
): Controller {
  const queue = new WorkQueue(port, { name: "resource_quota", process, concurrency: 1 });
  const { scheduler } = port.runtime;
  /** By the prefix of the resource. */
  const followed = new Map<string, Disposable>();

  const find = ({
    group,
    plural,
  }: {
    readonly group: string;
    readonly plural: string;
  }): InstalledResource | undefined =>
    registry.resources.find(({ definition }) => definition.group === group && definition.plural === plural);

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // What the store holds has gone through the schema of the kind.
    const quota = quotas.view.get(key)?.decode() as ResourceQuota | undefined;
    if (quota === undefined) return;
    const { namespace = "" } = quota.metadata;
    const used: Record<string, string> = {};
    for (const name of Object.keys(quota.spec?.hard ?? {})) {
      const counted = countedResource(name);
      // Amounts of processors and memory are nobody's here.
      if (counted === undefined) continue;
      const resource = find(counted.resource);
      if (resource !== undefined) follow(resource);
      const objects = resource === undefined ? [] : objectsIn(resource, namespace);
      used[name] = String(objects.reduce((sum, object) => sum + counted.amountOf(object), 0));
    }
    const status = { hard: quota.spec?.hard ?? {}, used };
    if (equalJson(quota.status ?? {}, status)) return;
    const transform = (current: KubeObject): KubeObject => ({ ...current, status });
    await ignoringConflicts(() => updateControlled(port, quotas, quota, { subresource: "status", transform }, signal));
  }

  function follow({ view, keys }: InstalledResource): void {
    if (followed.has(keys.prefix)) return;
    const recount = (key: string): void => {
      const prefix = quotas.keys.inNamespace(keys.parse(key).namespace);
      for (const quota of quotas.view.list(prefix)) queue.add(quota.key);
    };
    const following = followView({ view, prefix: keys.prefix }, scheduler, {
      // Those that are there have just been counted.
      replace() {},
      put: (object) => recount(object.key),
      delete: (object) => recount(object.key),
    });
    followed.set(keys.prefix, following);
  }

  const following = followKeys(quotas, scheduler, (key) => queue.add(key));
  const held = {
    [Symbol.dispose]() {
      for (const each of followed.values()) each[Symbol.dispose]();
    },
  };
  return createQueueController(queue, [following, held]);
}
