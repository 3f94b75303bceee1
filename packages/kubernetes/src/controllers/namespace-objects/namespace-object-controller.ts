// Maintains an object with a given name in every namespace.
// Source: k8s.io/kubernetes/pkg/controller/serviceaccount/serviceaccounts_controller.go, pkg/controller/certificates/rootcacertpublisher/publisher.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import { createControlled, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";

export type NamespaceObject = {
  /** Name under which its work queue is counted. */
  readonly queueName: string;
  readonly namespaces: ControlledResource;
  /** The resource of the object. */
  readonly resource: ControlledResource;
  readonly object: KeptObject;
};

export type KeptObject = {
  readonly kind: string;
  readonly name: string;
  /** The object to create; undefined: none at present. If it has `data`, changes of it are reverted. */
  wanted(): KubeObject | undefined;
  /** Calls back when `wanted` gives another object. Absent: it never does. */
  onChange?(listener: () => void): Disposable;
};

/** Enough to tell whether a namespace goes; all objects in `metadata` of what is stored. */
const readDeletion = createMemberReader({ metadata: { name: true, deletionTimestamp: true } });

export function createNamespaceObjectController(
  port: Omit<ControllerPort, "resources">,
  { queueName, namespaces, resource, object }: NamespaceObject,
): Controller {
  const { scheduler } = port.runtime;
  const { name } = object;
  const queue = new WorkQueue(port, { name: queueName, process });

  async function process(namespace: string, signal: AbortSignal): Promise<void> {
    const wanted = object.wanted();
    if (wanted === undefined) return;
    const holder = namespaces.view.get(namespaces.keys.of("", namespace));
    if (holder === undefined || isBeingDeleted(holder.read(readDeletion) as KubeObject)) return;
    const current = resource.view.get(resource.keys.of(namespace, name))?.decode();
    try {
      if (current === undefined) await create(namespace, wanted, signal);
      else if (hasChanged(current, wanted)) await restore(namespace, wanted, signal);
    } catch (error) {
      // Another writer was faster, or the namespace is terminating: the change is on its way.
      const isOutpaced = ["AlreadyExists", "Conflict", "NotFound", "Forbidden"] as const;
      if (!isOutpaced.some((reason) => isApiError(error, reason))) throw error;
    }
  }

  async function create(namespace: string, wanted: KubeObject, signal: AbortSignal): Promise<void> {
    await createControlled(port, resource, { ...wanted, metadata: { ...wanted.metadata, namespace } }, signal);
  }

  async function restore(namespace: string, wanted: KubeObject, signal: AbortSignal): Promise<void> {
    const transform = (current: KubeObject): KubeObject => ({ ...current, data: wanted["data"] });
    await updateControlled(port, resource, { metadata: { namespace, name } }, { transform }, signal);
  }

  const hasChanged = (current: KubeObject, wanted: KubeObject): boolean =>
    wanted["data"] !== undefined && !equalJson(current["data"], wanted["data"]);

  const addNamespaceOf = ({ key }: CachedObject): void => {
    const parsed = resource.keys.parse(key);
    if (parsed.name === name) queue.add(parsed.namespace);
  };
  const addNamespace = (key: string): void => queue.add(namespaces.keys.parse(key).name);
  // The namespaces lead to objects that are missing.
  const addAll = (): void => {
    for (const { key } of namespaces.view.list(namespaces.keys.prefix)) addNamespace(key);
  };
  const changes = object.onChange?.(addAll);
  const following = [
    ...(changes === undefined ? [] : [changes]),
    followKeys(namespaces, scheduler, addNamespace),
    followView({ view: resource.view, prefix: resource.keys.prefix }, scheduler, {
      replace: addAll,
      put: addNamespaceOf,
      delete: addNamespaceOf,
    }),
  ];
  return createQueueController(queue, following);
}
