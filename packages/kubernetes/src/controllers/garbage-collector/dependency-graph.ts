// Indexes owner references by the uid of the owner. Objects without owners, which are most, are not in it.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/{graph,graph_builder}.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import { isBeingDeleted, type KubeObject, type OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS } from "@postern/apimachinery/validation/object-meta";
import { viewPrefixOf } from "@postern/apiserver/cache/resource-keys";

/** References that are followed from one object: tenants can let thousands of objects wait for each other. */
export const MAX_FOLLOWED = 10_000;

/** Keys are storage keys: unique over all resources. */
type Dependent = { readonly uid: string; readonly owners: readonly OwnerReference[] };

/** An object that others name as their owner. */
type OwnerIdentity = {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
};

/** The members that link an object to others. */
type Links = Pick<KubeObject, "metadata">;

export class DependencyGraph {
  readonly #dependents = new Map<string, Dependent>();
  /** References that were followed from objects to their owners, for tests. */
  followed = 0;
  /** Owner uid → keys of the objects that name it, with the references that do. */
  readonly #byOwner = new Map<string, Map<string, readonly OwnerReference[]>>();
  /** Group and kind of owners → keys of the objects that name such an owner. */
  readonly #byOwnerKind = new Map<string, Set<string>>();
  /** Prefix of a resource → keys of its objects that have owners. */
  readonly #byPrefix = new Map<string, Set<string>>();
  /** Uid → owners that were deleted while dependents name them: their definition may go before those have been looked at. */
  readonly #gone = new Map<string, OwnerIdentity>();
  /** Uid → key of the objects that wait for their dependents to go first. */
  readonly #waiting = new Map<string, string>();

  /** Takes an object's present state. Returns the keys to look at because of it. */
  set(key: string, object: Links): readonly string[] {
    const { metadata } = object;
    const uid = metadata.uid ?? "";
    const known = this.#dependents.get(key);
    const before = known?.owners ?? [];
    const owners = metadata.ownerReferences ?? [];
    const isSame = (known === undefined || known.uid === uid) && equalJson(before, owners);
    if (!isSame) this.#replaceOwners(key, uid, owners);
    const affected = owners.length > 0 || isOrphaningDependents(object) ? [key] : [];
    if (!isDeletingDependents(object)) {
      this.#waiting.delete(uid);
    } else {
      const hasWaited = this.#waiting.has(uid);
      this.#waiting.set(uid, key);
      affected.push(key);
      // They are deleted now, or lose their reference to it.
      if (!hasWaited) affected.push(...this.dependentsOf(uid));
      if (!hasWaited || !isSame) affected.push(...this.#freedBy({ key, uid }));
    }
    return isSame ? affected : [...affected, ...this.#waitingAmong(before)];
  }

  /** Forgets an object. Its dependents have to be looked at, and its owners that wait for it. */
  remove(key: string, uid: string): readonly string[] {
    const owners = this.#dependents.get(key)?.owners ?? [];
    this.#replaceOwners(key, uid, []);
    this.#waiting.delete(uid);
    return [...this.dependentsOf(uid), ...this.#waitingAmong(owners)];
  }

  /** Notes that an object was deleted, as long as others name it. */
  rememberGone(uid: string, identity: OwnerIdentity): void {
    if (this.#byOwner.has(uid)) this.#gone.set(uid, identity);
  }

  /** True when exactly this owner of a dependent in `namespace` was seen to be deleted. */
  sawOwnerGo(reference: OwnerReference, namespace: string): boolean {
    const gone = this.#gone.get(reference.uid);
    if (gone === undefined || kindName(gone.group, gone.kind) !== ownerKind(reference)) return false;
    return gone.name === reference.name && (gone.namespace === "" || gone.namespace === namespace);
  }

  dependentsOf(uid: string): readonly string[] {
    return [...(this.#byOwner.get(uid)?.keys() ?? [])];
  }

  dependentsOfKind({ group, kind }: { readonly group: string; readonly kind: string }): readonly string[] {
    return [...(this.#byOwnerKind.get(kindName(group, kind)) ?? [])];
  }

  /**
   * Whether the deletion of the owner has to wait for a dependent. It does not for one that waits for the owner in turn, at once or through others:
   * two that wait for each other would wait for ever.
   */
  isBlocked(
    owner: { readonly key: string; readonly uid: string },
    namesOwner: (reference: OwnerReference, dependentKey: string) => boolean,
  ): boolean {
    const waiting = new Set<string>();
    for (const [key, references] of this.#byOwner.get(owner.uid) ?? []) {
      const { uid = "" } = this.#dependents.get(key) ?? {};
      if (uid === owner.uid || waiting.has(uid)) continue;
      if (!references.some((each) => each.blockOwnerDeletion === true && namesOwner(each, key))) continue;
      if (!this.#waiting.has(uid)) return true;
      waiting.add(uid);
    }
    return waiting.size > 0 && !this.#waitingFor(owner, waiting).isComplete;
  }

  /**
   * The objects to look at when one begins to wait: all that wait for it, if it closes a circle of objects that wait for each other. Without a circle
   * each of them waits as before, and in a chain of thousands each would be looked at as often. Where too many wait to tell, its owners go first.
   */
  #freedBy(object: { readonly key: string; readonly uid: string }): readonly string[] {
    const { keys, isComplete, isCircle } = this.#waitingFor(object);
    if (isComplete) return this.#waitingAmong(this.#dependents.get(object.key)?.owners ?? []);
    return isCircle ? keys : [];
  }

  /**
   * All that wait for an object, at once or through others that wait, until these are found that are looked for. It is as if they were
   * where too many wait to tell. In a circle the object itself is among those that wait for it.
   */
  #waitingFor(
    { key, uid }: { readonly key: string; readonly uid: string },
    lookedFor?: Set<string>,
  ): { readonly keys: readonly string[]; readonly isComplete: boolean; readonly isCircle: boolean } {
    const found = new Set([uid]);
    const keys: string[] = [];
    let followed = 0;
    let isCircle = false;
    for (let at: string | undefined = key, next = 0; at !== undefined; at = keys[next++]) {
      for (const owner of this.#dependents.get(at)?.owners ?? []) {
        this.followed++;
        if (++followed > MAX_FOLLOWED) return { keys, isComplete: true, isCircle };
        isCircle ||= owner.uid === uid && at !== key;
        const ownerKey = this.#waiting.get(owner.uid);
        if (ownerKey === undefined || found.has(owner.uid)) continue;
        found.add(owner.uid);
        keys.push(ownerKey);
        if (lookedFor?.delete(owner.uid) === true && lookedFor.size === 0) return { keys, isComplete: true, isCircle };
      }
    }
    return { keys, isComplete: false, isCircle };
  }

  /** The objects of one resource that have owners. */
  dependentsBelow(prefix: string): readonly string[] {
    return [...(this.#byPrefix.get(prefix) ?? [])];
  }

  #waitingAmong(owners: readonly OwnerReference[]): readonly string[] {
    return owners.map(({ uid }) => this.#waiting.get(uid)).filter((key) => key !== undefined);
  }

  #replaceOwners(key: string, uid: string, owners: readonly OwnerReference[]): void {
    const before = this.#dependents.get(key)?.owners ?? [];
    for (const owner of before) {
      removeFrom(this.#byOwner, owner.uid, key);
      removeFrom(this.#byOwnerKind, ownerKind(owner), key);
    }
    const prefix = viewPrefixOf(key) ?? "";
    if (owners.length === 0) {
      this.#dependents.delete(key);
      removeFrom(this.#byPrefix, prefix, key);
    } else {
      this.#dependents.set(key, { uid, owners });
      addTo(this.#byPrefix, prefix, key);
    }
    for (const owner of owners) {
      const ofOwner = this.#byOwner.get(owner.uid) ?? new Map<string, readonly OwnerReference[]>();
      this.#byOwner.set(owner.uid, ofOwner.set(key, [...(ofOwner.get(key) ?? []), owner]));
      addTo(this.#byOwnerKind, ownerKind(owner), key);
    }
    for (const owner of before) if (!this.#byOwner.has(owner.uid)) this.#gone.delete(owner.uid);
  }
}

const kindName = (group: string, kind: string): string => `${group}/${kind}`;
const ownerKind = ({ apiVersion, kind }: OwnerReference): string =>
  kindName(parseApiVersion(apiVersion)?.group ?? apiVersion, kind);

function addTo(index: Map<string, Set<string>>, name: string, key: string): void {
  const keys = index.get(name);
  if (keys === undefined) index.set(name, new Set([key]));
  else keys.add(key);
}

function removeFrom(index: Map<string, Pick<Set<string>, "delete" | "size">>, name: string, key: string): void {
  const keys = index.get(name);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(name);
}

/** Foreground deletion: the object stays until its blocking dependents are gone. */
export const isDeletingDependents = (object: Links): boolean => isMarkedWith(object, FINALIZER_DELETE_DEPENDENTS);

/** The object stays until its dependents have lost their reference to it. */
export const isOrphaningDependents = (object: Links): boolean => isMarkedWith(object, FINALIZER_ORPHAN_DEPENDENTS);

const isMarkedWith = (object: Links, finalizer: string): boolean =>
  isBeingDeleted(object) &&
  // An object is in use until its grace period is over, and so are its dependents.
  (object.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  object.metadata.finalizers?.includes(finalizer) === true;
