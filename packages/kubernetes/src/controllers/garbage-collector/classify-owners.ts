// Classifies the owners of an object: present, absent, or waiting for their own dependents.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/garbagecollector.go (classifyReferences)

import type { KubeObject, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import type { DependencyGraph } from "./dependency-graph.ts";
import type { ObjectAccess } from "./object-access.ts";

/** The objects in memory, and the owners whose deletion was seen. */
type OwnerSources = { readonly access: ObjectAccess; readonly graph: Pick<DependencyGraph, "sawOwnerGo"> };

type OwnerState = "present" | "absent" | "waiting";
type ClassifiedOwner = {
  readonly reference: OwnerReference;
  readonly state: OwnerState;
  /** It is there, but in a namespace where the reference cannot mean it. */
  readonly isElsewhere: boolean;
};

/**
 * An owner of a kind that is not served counts as present unless its deletion was seen, since the server cannot know that it is gone.
 * So does a namespaced owner of a cluster-scoped object, which is never looked for.
 */
export async function classifyOwners(
  { access, graph }: OwnerSources,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<readonly ClassifiedOwner[]> {
  const { ownerReferences = [], namespace = "" } = metadata;
  const classified: ClassifiedOwner[] = [];
  let lookedFor = 0;
  for (let from = 0; from < ownerReferences.length; from += AT_ONCE) {
    const part = await Promise.all(
      ownerReferences.slice(from, from + AT_ONCE).map(async (reference): Promise<ClassifiedOwner> => {
        const state = await stateOf({ access, graph }, reference, namespace, signal);
        const isLookedFor = state === "absent" || access.locateOwner(reference, namespace) === "wrong-scope";
        // Each costs a search in many namespaces.
        const isElsewhere = isLookedFor && ++lookedFor <= MAX_LOOKED_FOR && access.isElsewhere(reference, namespace);
        return { reference, state, isElsewhere };
      }),
    );
    classified.push(...part);
  }
  return classified;
}

/** Owners of one object that are read from the store at a time. */
const AT_ONCE = 50;
/** Owners of one object that are searched for in other namespaces, for an Event about each. */
const MAX_LOOKED_FOR = 20;

async function stateOf(
  { access, graph }: OwnerSources,
  reference: OwnerReference,
  namespace: string,
  signal: AbortSignal,
): Promise<OwnerState> {
  const location = access.locateOwner(reference, namespace);
  if (location === "unknown-kind") return graph.sawOwnerGo(reference, namespace) ? "absent" : "present";
  if (location === "wrong-scope") return "present";
  let owner = access.stateOf(location);
  // Memory may be behind the store: nothing is collected for an owner that only memory does not know.
  if (owner?.uid !== reference.uid) owner = await access.liveStateOf(location, signal);
  if (owner?.uid !== reference.uid) return "absent";
  return owner.deletesDependents ? "waiting" : "present";
}
