// Deletes the content of a namespace, and reports what remains.
// Source: k8s.io/kubernetes/pkg/controller/namespace/deletion/namespaced_resources_deleter.go

import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { deleteControlled, ignoringConflicts } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, ControllerPort } from "@postern/apiserver/controllers/controller-port";

export type RemainingContent = {
  /** Resources that still have objects in the namespace. */
  readonly resources: readonly ControlledResource[];
  /** Objects by `plural.group`, as upstream with the dot where the group is empty. */
  readonly counts: ReadonlyMap<string, number>;
  /** Objects by finalizer that holds them. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Failures to delete, in words. */
  readonly errors: readonly string[];
};

type Deletion = {
  readonly port: Pick<ControllerPort, "runtime">;
  readonly resources: readonly ControlledResource[];
  readonly namespace: string;
  readonly signal: AbortSignal;
};

/** Deletes nothing else before the last pod is gone, as upstream: what protects a pod, such as a NetworkPolicy, outlasts it (KEP-5080). */
export async function deleteInOrder(deletion: Deletion): Promise<RemainingContent> {
  const pods = await deleteContent({ ...deletion, resources: deletion.resources.filter(isOfPods) });
  if (pods.resources.length > 0) return pods;
  const others = await deleteContent(deletion);
  return { ...others, errors: [...pods.errors, ...others.errors] };
}

const isOfPods = ({ definition: { group, plural } }: ControlledResource): boolean => group === "" && plural === "pods";

export async function deleteContent({ port, resources, namespace, signal }: Deletion): Promise<RemainingContent> {
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
    const { plural, group } = resource.definition;
    counts.set(`${plural}.${group}`, objects.length);
    for (const object of objects) {
      for (const finalizer of object.decode().metadata.finalizers ?? []) {
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
      }
    }
  }
  return { resources: remaining, counts, finalizers };
}
