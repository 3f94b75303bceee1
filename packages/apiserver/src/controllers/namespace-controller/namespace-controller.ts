// Empties namespaces that are being deleted, and lets them go when nothing is left in them.
// Source: k8s.io/kubernetes/pkg/controller/namespace/namespace_controller.go

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { NAMESPACE_FINALIZER, namespaceFinalizersOf } from "../../builtin/core/namespace-finalizers.ts";
import { followView } from "../../cache/follow-view.ts";
import {
  CONTROLLER_WRITE,
  type ControlledResource,
  type Controller,
  type ControllerPort,
  contextOf,
  withoutViews,
} from "../controller-port.ts";
import { createQueueController } from "../queue-controller.ts";
import { passingOverRaces } from "../update-controlled.ts";
import { WorkQueue } from "../work-queue.ts";
import { deleteContent, type RemainingContent } from "./delete-content.ts";
import { namespaceConditions } from "./namespace-conditions.ts";

export function createNamespaceController(port: ControllerPort, namespaces: ControlledResource): Controller {
  const { view, keys } = namespaces;
  const waits = new Map<string, Disposable>();
  const queue = new WorkQueue(port, { name: "namespace", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    waits.get(key)?.[Symbol.dispose]();
    waits.delete(key);
    const { name } = keys.parse(key);
    const namespace = view.get(key)?.decode();
    const resources = withoutViews(port.resources()).filter(({ definition }) => definition.namespaced);
    if (namespace === undefined) {
      // What slipped in while the namespace went must not be found by the next one of that name.
      await deleteContent(port, resources, name, signal);
      return;
    }
    if (!isBeingDeleted(namespace) || !namespaceFinalizersOf(namespace).includes(NAMESPACE_FINALIZER)) return;

    const content = await deleteContent(port, resources, name, signal);
    await passingOverRaces(async () => {
      await writeConditions(namespace, content, signal);
      if (content.resources.length === 0) await finalize(namespace, signal);
      if (content.errors.length > 0) throw new Error(`namespace ${name}: ${content.errors.join("; ")}`);
      if (content.resources.length > 0) waitForRemoval(key, name, content.resources);
    });
  }

  /** Comes back when any of the objects that are left goes. */
  function waitForRemoval(key: string, namespace: string, resources: readonly ControlledResource[]): void {
    const subscriptions = resources.map((resource) => {
      const prefix = resource.keys.inNamespace(namespace);
      let isFirst = true;
      return followView({ view: resource.view, prefix }, port.runtime.scheduler, {
        replace(objects) {
          if (!isFirst || objects.length === 0) queue.add(key);
          isFirst = false;
        },
        put() {},
        delete: () => queue.add(key),
      });
    });
    waits.set(key, {
      [Symbol.dispose]() {
        for (const subscription of subscriptions) subscription[Symbol.dispose]();
      },
    });
  }

  async function writeConditions(namespace: KubeObject, content: RemainingContent, signal: AbortSignal): Promise<void> {
    const now = formatTimestamp(port.runtime.clock.now());
    await update(namespace, "status", signal, (current) => {
      const status = isJsonObject(current["status"]) ? current["status"] : {};
      return { ...current, status: { ...status, conditions: namespaceConditions(content, status["conditions"], now) } };
    });
  }

  const finalize = (namespace: KubeObject, signal: AbortSignal): Promise<void> =>
    update(namespace, "finalize", signal, (current) => ({
      ...current,
      spec: { finalizers: namespaceFinalizersOf(current).filter((finalizer) => finalizer !== NAMESPACE_FINALIZER) },
    }));

  async function update(
    { metadata: { name = "", uid = "" } }: KubeObject,
    subresource: string,
    signal: AbortSignal,
    transform: (current: KubeObject) => KubeObject,
  ): Promise<void> {
    const call = { verb: "update", resource: namespaces, subresource, namespace: "", name } as const;
    const context = contextOf(port, call, signal);
    await namespaces.store.update(context, "", name, { uid, transform, subresource }, CONTROLLER_WRITE);
  }

  const following = followView({ view, prefix: keys.prefix }, port.runtime.scheduler, {
    replace(objects) {
      for (const { key } of objects) queue.add(key);
    },
    put: ({ key }) => queue.add(key),
    delete: ({ key }) => queue.add(key),
  });

  const waiting = {
    [Symbol.dispose]() {
      for (const wait of waits.values()) wait[Symbol.dispose]();
    },
  };
  return createQueueController(queue, [following, waiting]);
}
