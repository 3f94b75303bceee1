// Who says to be owned by whom, by uid, kept for objects with owners alone: most objects have none and cost nothing here.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/{graph,graph_builder}.go

import { isBeingDeleted, type KubeObject, type OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS } from "@postern/apimachinery/validation/object-meta";

/** Keys are storage keys: unique over all resources. */
type Dependent = { readonly uid: string; readonly owners: readonly OwnerReference[] };

/** Of an object, what links it to others. */
type Links = Pick<KubeObject, "metadata">;

export class DependencyGraph {
  readonly #dependents = new Map<string, Dependent>();
  /** Owner uid → keys of the objects that name it. */
  readonly #byOwner = new Map<string, Set<string>>();
  /** Uid → key of the objects that wait for their dependents to go first. */
  readonly #waiting = new Map<string, string>();

  /** Takes an object's present state. Returns the keys to look at because of it. */
  set(key: string, object: Links): readonly string[] {
    const { metadata } = object;
    const uid = metadata.uid ?? "";
    const before = this.#dependents.get(key)?.owners ?? [];
    const owners = metadata.ownerReferences ?? [];
    this.#replaceOwners(key, uid, owners);
    const affected = owners.length > 0 ? [key] : [];
    if (isDeletingDependents(object)) {
      this.#waiting.set(uid, key);
      affected.push(key);
    } else {
      this.#waiting.delete(uid);
    }
    if (isOrphaningDependents(object)) affected.push(key);
    return [...affected, ...this.#waitingAmong(before)];
  }

  /** Forgets an object. Its dependents have to be looked at, and its owners that wait for it. */
  remove(key: string, uid: string): readonly string[] {
    const owners = this.#dependents.get(key)?.owners ?? [];
    this.#replaceOwners(key, uid, []);
    this.#waiting.delete(uid);
    return [...this.dependentsOf(uid), ...this.#waitingAmong(owners)];
  }

  dependentsOf(uid: string): readonly string[] {
    return [...(this.#byOwner.get(uid) ?? [])];
  }

  /**
   * Those dependents that the deletion of the owner has to wait for. Not among them is one that waits for the owner in turn,
   * at once or through others: two that wait for each other would wait for ever.
   */
  blockingDependentsOf(uid: string): readonly string[] {
    return this.dependentsOf(uid).filter((key) => {
      const dependent = this.#dependents.get(key);
      const blocks = dependent?.owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true) === true;
      return blocks && !this.#waitsFor(dependent.uid, uid);
    });
  }

  /** True when the object `uid` waits for `target`, which is the object itself or below it, through objects that all wait. */
  #waitsFor(uid: string, target: string): boolean {
    const seen = new Set<string>();
    const pending = [uid];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (at === target) return true;
      if (seen.has(at) || !this.#waiting.has(at)) continue;
      seen.add(at);
      for (const key of this.dependentsOf(at)) pending.push(this.#dependents.get(key)?.uid ?? "");
    }
    return false;
  }

  get allDependents(): Iterable<string> {
    return this.#dependents.keys();
  }

  #waitingAmong(owners: readonly OwnerReference[]): readonly string[] {
    return owners.map(({ uid }) => this.#waiting.get(uid)).filter((key) => key !== undefined);
  }

  #replaceOwners(key: string, uid: string, owners: readonly OwnerReference[]): void {
    for (const owner of this.#dependents.get(key)?.owners ?? []) {
      const keys = this.#byOwner.get(owner.uid);
      keys?.delete(key);
      if (keys?.size === 0) this.#byOwner.delete(owner.uid);
    }
    if (owners.length === 0) {
      this.#dependents.delete(key);
      return;
    }
    this.#dependents.set(key, { uid, owners });
    for (const owner of owners) {
      const keys = this.#byOwner.get(owner.uid);
      if (keys === undefined) this.#byOwner.set(owner.uid, new Set([key]));
      else keys.add(key);
    }
  }
}

/** Foreground deletion: the object stays until its blocking dependents are gone. */
export const isDeletingDependents = (object: Links): boolean => isMarkedWith(object, FINALIZER_DELETE_DEPENDENTS);

/** The object stays until its dependents have lost their reference to it. */
export const isOrphaningDependents = (object: Links): boolean => isMarkedWith(object, FINALIZER_ORPHAN_DEPENDENTS);

const isMarkedWith = (object: Links, finalizer: string): boolean =>
  isBeingDeleted(object) && object.metadata.finalizers?.includes(finalizer) === true;
