// Sorts the owners of an object into those that are there, those that are gone and those that wait for it to go.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/garbagecollector.go (classifyReferences)

import type { KubeObject, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { isDeletingDependents } from "./dependency-graph.ts";
import type { ObjectAccess } from "./object-access.ts";

export type OwnerState = "present" | "absent" | "waiting";
export type ClassifiedOwner = {
  readonly reference: OwnerReference;
  readonly state: OwnerState;
  /** It is there, but in a namespace where the reference cannot mean it. */
  readonly isElsewhere: boolean;
};

/**
 * An owner of a kind that is not served counts as present, since nobody knows whether it is gone; so does a namespaced owner of a
 * cluster-scoped object, which is never looked for.
 */
export function classifyOwners(
  access: ObjectAccess,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<readonly ClassifiedOwner[]> {
  const { ownerReferences = [], namespace = "" } = metadata;
  return Promise.all(
    ownerReferences.map(async (reference) => {
      const state = await stateOf(access, reference, namespace, signal);
      const isLookedFor = state === "absent" || access.locateOwner(reference, namespace) === "wrong-scope";
      return { reference, state, isElsewhere: isLookedFor && access.isElsewhere(reference, namespace) };
    }),
  );
}

async function stateOf(
  access: ObjectAccess,
  reference: OwnerReference,
  namespace: string,
  signal: AbortSignal,
): Promise<OwnerState> {
  const location = access.locateOwner(reference, namespace);
  if (typeof location === "string") return "present";
  const isOwner = (object: KubeObject | undefined): object is KubeObject => object?.metadata.uid === reference.uid;
  let owner = access.cached(location);
  // Memory may be behind the store: nothing is collected for an owner that only memory does not know.
  if (!isOwner(owner)) owner = await access.live(location, signal);
  if (!isOwner(owner)) return "absent";
  return isDeletingDependents(owner) ? "waiting" : "present";
}
