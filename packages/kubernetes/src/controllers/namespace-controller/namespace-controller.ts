// Deletes the content of terminating namespaces, then their finalizer.
// Source: k8s.io/kubernetes/pkg/controller/namespace/namespace_controller.go

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { followView } from "@postern/apiserver/cache/view-informer";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import {
  type ControlledResource,
  type Controller,
  type ControllerPort,
  withoutViews,
} from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { NAMESPACE_FINALIZER, namespaceFinalizersOf } from "../../builtin/core/namespace-finalizers.ts";
import { deleteContent, deleteInOrder, type RemainingContent } from "./delete-namespace-content.ts";
import { namespaceConditions } from "./namespace-conditions.ts";

export function createNamespaceController(port: ControllerPort, namespaces: ControlledResource): Controller {
  const { view, keys } = namespaces;
  const { clock, scheduler } = port.runtime;
  const waits = new Map<string, Disposable>();
  const queue = new WorkQueue(port, { name: "namespace", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    waits.get(key)?.[Symbol.dispose]();
    waits.delete(key);
    const { name } = keys.parse(key);
    const namespace = view.get(key)?.decode();
    const resources = withoutViews(port.resources.all).filter(({ definition }) => definition.namespaced);
    if (namespace === undefined) {
      // Objects that slipped in while the namespace went must not be found by the next one of that name.
      await deleteContent({ port, resources, namespace: name, signal });
      return;
    }
    if (!isBeingDeleted(namespace) || !namespaceFinalizersOf(namespace).includes(NAMESPACE_FINALIZER)) return;

    const content = await deleteInOrder({ port, resources, namespace: name, signal });
    await ignoringConflicts(async () => {
      await writeConditions(namespace, content, signal);
      if (content.resources.length === 0) {
        await updateControlled(port, namespaces, namespace, { subresource: "finalize", transform: finalized }, signal);
      }
      if (content.errors.length > 0) throw new Error(`namespace ${name}: ${content.errors.join("; ")}`);
      const comeBack = (): void => queue.add(key);
      if (content.resources.length > 0) waits.set(key, followRemovals(name, content.resources, scheduler, comeBack));
    });
  }

  async function writeConditions(namespace: KubeObject, content: RemainingContent, signal: AbortSignal): Promise<void> {
    const now = formatTimestamp(clock.now());
    const transform = (current: KubeObject): KubeObject => {
      const status = isJsonObject(current["status"]) ? current["status"] : {};
      return { ...current, status: { ...status, conditions: namespaceConditions(content, status["conditions"], now) } };
    };
    await updateControlled(port, namespaces, namespace, { subresource: "status", transform }, signal);
  }

  const following = followKeys(namespaces, scheduler, (key) => queue.add(key));

  const waiting = {
    [Symbol.dispose]() {
      for (const wait of waits.values()) wait[Symbol.dispose]();
    },
  };
  return createQueueController(queue, [following, waiting]);
}

const finalized = (namespace: KubeObject): KubeObject => ({
  ...namespace,
  spec: { finalizers: namespaceFinalizersOf(namespace).filter((finalizer) => finalizer !== NAMESPACE_FINALIZER) },
});

/** Calls back when any of the objects goes that a namespace still has, until disposed. */
function followRemovals(
  namespace: string,
  resources: readonly ControlledResource[],
  scheduler: Scheduler,
  onRemoval: () => void,
): Disposable {
  const subscriptions = resources.map(({ view, keys }) => {
    let isFirst = true;
    return followView({ view, prefix: keys.inNamespace(namespace) }, scheduler, {
      replace(objects) {
        if (!isFirst || objects.length === 0) onRemoval();
        isFirst = false;
      },
      delete: onRemoval,
    });
  });
  return {
    [Symbol.dispose]() {
      for (const subscription of subscriptions) subscription[Symbol.dispose]();
    },
  };
}
