// Deletes the content of terminating namespaces, then their finalizer.
// Source: k8s.io/kubernetes/pkg/controller/namespace/namespace_controller.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { qualifiedName } from "@postern/apimachinery/meta/group-version";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { followView } from "@postern/apiserver/cache/view-informer";
import {
  deleteControlled,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import {
  type ControlledResource,
  type Controller,
  type ControllerPort,
  withoutViews,
} from "@postern/apiserver/controllers/controller-port";
import { createQueueController, followKeys } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { NAMESPACE_FINALIZER, namespaceFinalizersOf } from "../../builtin/core/namespaces.ts";

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
      await deleteContent(port, resources, name, signal);
      return;
    }
    if (!isBeingDeleted(namespace) || !namespaceFinalizersOf(namespace).includes(NAMESPACE_FINALIZER)) return;

    const content = await deleteContent(port, resources, name, signal);
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
      put() {},
      delete: onRemoval,
    });
  });
  return {
    [Symbol.dispose]() {
      for (const subscription of subscriptions) subscription[Symbol.dispose]();
    },
  };
}

// The conditions of a terminating namespace: the progress of its deletion.
// Source: k8s.io/kubernetes/pkg/controller/namespace/deletion/status_condition_utils.go

type Verdict = readonly [status: "True" | "False", reason: string, message: string];

/** The conditions of the five kinds, with the time of the last change kept where the status is the same as before. */
function namespaceConditions(
  content: Pick<RemainingContent, "counts" | "finalizers" | "errors">,
  previous: JsonValue | undefined,
  now: string,
): readonly JsonObject[] {
  const known = isJsonArray(previous) ? previous.filter(isJsonObject) : [];
  const verdicts: { readonly [type: string]: Verdict } = {
    NamespaceDeletionDiscoveryFailure: ["False", "ResourcesDiscovered", "All resources successfully discovered"],
    NamespaceDeletionGroupVersionParsingFailure: [
      "False",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ],
    NamespaceDeletionContentFailure: deletionVerdict(content.errors),
    NamespaceContentRemaining: remainingVerdict(content.counts),
    NamespaceFinalizersRemaining: finalizersVerdict(content.finalizers),
  };
  return Object.entries(verdicts).map(([type, [status, reason, message]]) => {
    const before = known.find((condition) => condition["type"] === type);
    const lastTransitionTime = before?.["status"] === status ? (before["lastTransitionTime"] ?? now) : now;
    return { type, status, lastTransitionTime, reason, message };
  });
}

const deletionVerdict = (errors: readonly string[]): Verdict =>
  errors.length === 0
    ? ["False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"]
    : [
        "True",
        "ContentDeletionFailed",
        `Failed to delete all resource types, ${errors.length} remaining: ${[...errors].sort().join(", ")}`,
      ];

const remainingVerdict = (counts: ReadonlyMap<string, number>): Verdict =>
  counts.size === 0
    ? ["False", "ContentRemoved", "All content successfully removed"]
    : ["True", "SomeResourcesRemain", `Some resources are remaining: ${listOf(counts, "has", "resource instances")}`];

const finalizersVerdict = (finalizers: ReadonlyMap<string, number>): Verdict =>
  finalizers.size === 0
    ? ["False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"]
    : [
        "True",
        "SomeFinalizersRemain",
        `Some content in the namespace has finalizers remaining: ${listOf(finalizers, "in", "resource instances")}`,
      ];

const listOf = (counts: ReadonlyMap<string, number>, verb: string, what: string): string =>
  [...counts]
    .map(([name, count]) => `${name} ${verb} ${count} ${what}`)
    .sort()
    .join(", ");

// Deletes the content of a namespace, and reports what remains.
// Source: k8s.io/kubernetes/pkg/controller/namespace/deletion/namespaced_resources_deleter.go

type RemainingContent = {
  /** Resources that still have objects in the namespace. */
  readonly resources: readonly ControlledResource[];
  /** Objects by `plural.group`. */
  readonly counts: ReadonlyMap<string, number>;
  /** Objects by finalizer that holds them. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Failures to delete, in words. */
  readonly errors: readonly string[];
};

async function deleteContent(
  port: Pick<ControllerPort, "runtime">,
  resources: readonly ControlledResource[],
  namespace: string,
  signal: AbortSignal,
): Promise<RemainingContent> {
  const errors: string[] = [];
  for (const resource of resources) {
    const prefix = resource.keys.inNamespace(namespace);
    for (const object of resource.view.list(prefix)) {
      const found = object.decode();
      if (isBeingDeleted(found)) continue;
      const work = () => deleteControlled(port, resource, found, signal, { propagationPolicy: "Background" });
      try {
        await ignoringConflicts(work);
      } catch (error) {
        errors.push(error instanceof Error ? error.message : String(error));
      }
    }
  }
  return { ...whatRemains(resources, namespace), errors };
}

function whatRemains(
  resources: readonly ControlledResource[],
  namespace: string,
): Pick<RemainingContent, "resources" | "counts" | "finalizers"> {
  const remaining: ControlledResource[] = [];
  const counts = new Map<string, number>();
  const finalizers = new Map<string, number>();
  for (const resource of resources) {
    const objects = resource.view.list(resource.keys.inNamespace(namespace));
    if (objects.length === 0) continue;
    remaining.push(resource);
    counts.set(qualifiedName(resource.definition.plural, resource.definition.group), objects.length);
    for (const object of objects) {
      for (const finalizer of object.decode().metadata.finalizers ?? []) {
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
      }
    }
  }
  return { resources: remaining, counts, finalizers };
}
