// Keeps the graph of dependents in step with the objects of every resource that is served.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/graph_builder.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import { isBeingDeleted, type KubeObject, type OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { FINALIZER_DELETE_DEPENDENTS, FINALIZER_ORPHAN_DEPENDENTS } from "@postern/apimachinery/validation/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { viewPrefixOf } from "@postern/apiserver/cache/resource-keys";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { CacheView } from "@postern/apiserver/cache/watch-cache";
import {
  type ControlledResource,
  type ControllerPort,
  withoutViews,
} from "@postern/apiserver/controllers/controller-port";
import { inSlices } from "@postern/apiserver/runtime/in-slices";

export type GraphObserver = {
  /** Objects that have to be looked at because of a change. */
  affected(keys: Iterable<string>): void;
  /** The object is gone. */
  gone(key: string): void;
};

export class GraphBuilder implements Disposable {
  readonly #port: ControllerPort;
  readonly #graph: DependencyGraph;
  readonly #observer: GraphObserver;
  /** By the prefix of the resource. */
  readonly #followed = new Map<string, { readonly view: CacheView; readonly following: Disposable }>();
  readonly #changes: Disposable;
  readonly #scans = new Set<Promise<void>>();
  readonly #mayMatter = createLinkCheck();

  constructor(port: ControllerPort, graph: DependencyGraph, observer: GraphObserver) {
    this.#port = port;
    this.#graph = graph;
    this.#observer = observer;
    this.#changes = port.resources.onChange(() => this.#followResources());
    this.#followResources();
  }

  /** A definition that changed has another view of its objects; the one from before would keep its schema in memory. */
  #followResources(): void {
    const resources = new Map(
      withoutViews(this.#port.resources.all).map((resource) => [resource.keys.prefix, resource]),
    );
    for (const [prefix, { view, following }] of this.#followed) {
      const resource = resources.get(prefix);
      if (resource?.view === view) continue;
      following[Symbol.dispose]();
      this.#followed.delete(prefix);
      // No owner waits for objects that are not served.
      if (resource === undefined) this.#forgetBelow(prefix, () => true);
    }
    for (const [prefix, resource] of resources) {
      if (this.#followed.has(prefix)) continue;
      this.#followed.set(prefix, { view: resource.view, following: this.#follow(resource) });
    }
  }

  /** Resolves when every object that was there has been seen. */
  async scanned(): Promise<void> {
    while (this.#scans.size > 0) await Promise.all(this.#scans);
  }

  [Symbol.dispose](): void {
    this.#changes[Symbol.dispose]();
    for (const { following } of this.#followed.values()) following[Symbol.dispose]();
  }

  #follow({ definition, view, keys }: ControlledResource): Disposable {
    // Many resources of many clusters have no objects, and then there is nothing to stop.
    let stop: AbortController | undefined;
    const following = followView({ view, prefix: keys.prefix }, this.#port.runtime.scheduler, {
      replace: (objects) => {
        this.#forgetBelow(keys.prefix, (key) => view.get(key) === undefined);
        stop ??= objects.length === 0 ? undefined : new AbortController();
        const scanning = this.#scan({ definition, view }, objects, stop?.signal).finally(() =>
          this.#scans.delete(scanning),
        );
        this.#scans.add(scanning);
      },
      put: (object, previous) => {
        if (this.#mayMatter(object) || (previous !== undefined && this.#mayMatter(previous))) this.#take(object);
      },
      delete: (object) => {
        const { uid = "" } = linksOf(object).metadata;
        const { namespace, name } = keys.parse(object.key);
        this.#graph.rememberGone(uid, { group: definition.group, kind: definition.kind, namespace, name });
        this.#forget(object.key, uid);
      },
    });
    return {
      [Symbol.dispose]() {
        stop?.abort();
        following[Symbol.dispose]();
      },
    };
  }

  async #scan(
    { definition, view }: Pick<ControlledResource, "definition" | "view">,
    objects: readonly CachedObject[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const look = (object: CachedObject): void => {
      // Later changes have arrived as changes.
      if (view.get(object.key) !== object) return;
      try {
        if (this.#mayMatter(object)) this.#take(object);
      } catch (error) {
        this.#port.onError(error, object.key);
      }
    };
    await inSlices(objects, look, signal);
    // Owners may have gone unseen, or their kind may have become known.
    this.#observer.affected(this.#graph.dependentsOfKind(definition));
  }

  #take(object: CachedObject): void {
    this.#observer.affected(this.#graph.set(object.key, linksOf(object)));
  }

  #forgetBelow(prefix: string, isGone: (key: string) => boolean): void {
    for (const key of this.#graph.dependentsBelow(prefix)) if (isGone(key)) this.#forget(key, "");
  }

  #forget(key: string, uid: string): void {
    this.#observer.gone(key);
    this.#observer.affected(this.#graph.remove(key, uid));
  }
}

const readLinks = createMemberReader({
  metadata: {
    uid: true,
    ownerReferences: true,
    finalizers: true,
    deletionTimestamp: true,
    deletionGracePeriodSeconds: true,
  },
});

/** Members that the graph is made of; all others of a large object would be parsed for nothing. */
export function linksOf(object: CachedObject): Pick<KubeObject, "metadata"> {
  const { metadata = {} } = object.read(readLinks);
  // The store holds KubeObjects.
  return { metadata: metadata as KubeObject["metadata"] };
}

// With the quotes, without one of which they stand in texts and in names of managed fields.
const OWNER_REFERENCES = Buffer.from('"ownerReferences"');
const DELETION_TIMESTAMP = Buffer.from('"deletionTimestamp"');

/** False for the many objects that have neither owners nor are being deleted, told without parsing them. */
function createLinkCheck(): (object: CachedObject) => boolean {
  const reader = createMemberReader({ metadata: { ownerReferences: true, deletionTimestamp: true } });
  return (object) => {
    if (!object.has(OWNER_REFERENCES) && !object.has(DELETION_TIMESTAMP)) return false;
    const { metadata } = object.read(reader);
    return isJsonObject(metadata) && Object.keys(metadata).length > 0;
  };
}

/** References that are followed from one object: tenants can let thousands of objects wait for each other. */
export const MAX_FOLLOWED = 10_000;

// Owner references by uid, as objects claim them. Kept for objects with owners alone: most objects have none and cost nothing here.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/{graph,graph_builder}.go

/** Keys are storage keys: unique over all resources. */
type Dependent = { readonly uid: string; readonly owners: readonly OwnerReference[] };

/** An object that others name as their owner. */
type OwnerIdentity = {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
};

/** Of an object, what links it to others. */
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
      // It may close a circle of objects that wait for each other, all of which may go then.
      if (!hasWaited || !isSame) affected.push(...this.#waitingFor({ key, uid }).keys);
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
   * All that wait for an object, at once or through others that wait, until these are found that are looked for. It is as if they were
   * where too many wait to tell.
   */
  #waitingFor(
    { key, uid }: { readonly key: string; readonly uid: string },
    lookedFor?: Set<string>,
  ): { readonly keys: readonly string[]; readonly isComplete: boolean } {
    const found = new Set([uid]);
    const keys: string[] = [];
    let followed = 0;
    for (let at: string | undefined = key, next = 0; at !== undefined; at = keys[next++]) {
      for (const owner of this.#dependents.get(at)?.owners ?? []) {
        this.followed++;
        if (++followed > MAX_FOLLOWED) return { keys, isComplete: true };
        const ownerKey = this.#waiting.get(owner.uid);
        if (ownerKey === undefined || found.has(owner.uid)) continue;
        found.add(owner.uid);
        keys.push(ownerKey);
        if (lookedFor?.delete(owner.uid) === true && lookedFor.size === 0) return { keys, isComplete: true };
      }
    }
    return { keys, isComplete: false };
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
  // Until its grace period is over, an object is in use, and so are its dependents.
  (object.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
  object.metadata.finalizers?.includes(finalizer) === true;
