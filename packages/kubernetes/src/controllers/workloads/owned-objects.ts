// The objects of one resource by the controller that owns them, and those without one by namespace.

import { isBeingDeleted, type OwnerReference } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { createScans } from "@postern/apiserver/controllers/scans";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import { linksOf } from "../garbage-collector/graph-builder.ts";

export type OwnedObserver = {
  /** An object of this controller came, changed or went. */
  owned?(namespace: string, owner: OwnerReference): void;
  /** An object without a controller came or changed. */
  orphan?(object: CachedObject): void;
};

export type OwnedObjects = Disposable & {
  readonly resource: ControlledResource;
  /** The objects of the controller with this uid. Objects may come and go during the iteration. */
  of(uid: string): Iterable<CachedObject>;
  countOf(uid: string): number;
  orphansIn(namespace: string): Iterable<CachedObject>;
  /** Observers learn of everything that is there as well. */
  observe(observer: OwnedObserver): Disposable;
  /** Resolves when everything that was there has been seen: before that, an owner seems to have fewer objects than it has. */
  scanned(): Promise<void>;
};

const OWNER_REFERENCES = Buffer.from('"ownerReferences"');

/** The reference to the controller of an object. */
export const controllerOf = (object: CachedObject): OwnerReference | undefined =>
  object.has(OWNER_REFERENCES)
    ? linksOf(object).metadata.ownerReferences?.find(({ controller }) => controller === true)
    : undefined;

export const isBeingRemoved = (object: CachedObject): boolean => isBeingDeleted(linksOf(object));

export function followOwnedObjects(resource: ControlledResource, scheduler: Scheduler): OwnedObjects {
  const { view, keys } = resource;
  const owners = new Map<string, OwnerReference>();
  /** By uid of the controller, or by namespace behind a slash, which no uid has. */
  const groups = new Map<string, Map<string, CachedObject>>();
  const observers = new Set<OwnedObserver>();
  const scans = createScans();
  const groupOf = (key: string, owner: OwnerReference | undefined): string =>
    owner?.uid ?? `/${keys.parse(key).namespace}`;

  function leave(key: string, owner: OwnerReference | undefined): void {
    const id = groupOf(key, owner);
    const group = groups.get(id);
    group?.delete(key);
    if (group?.size === 0) groups.delete(id);
  }
  function tell(object: CachedObject, owner: OwnerReference | undefined): void {
    const { namespace } = keys.parse(object.key);
    for (const observer of observers) {
      if (owner === undefined) observer.orphan?.(object);
      else observer.owned?.(namespace, owner);
    }
  }
  function put(object: CachedObject): void {
    const { key } = object;
    const before = owners.get(key);
    const owner = controllerOf(object);
    if (before?.uid !== owner?.uid) {
      leave(key, before);
      if (before !== undefined) tell(object, before);
    }
    if (owner === undefined) owners.delete(key);
    else owners.set(key, owner);
    const id = groupOf(key, owner);
    const group = groups.get(id) ?? new Map<string, CachedObject>();
    groups.set(id, group.set(key, object));
    tell(object, owner);
  }
  const following = followView({ view, prefix: keys.prefix }, scheduler, {
    replace(objects) {
      owners.clear();
      groups.clear();
      const look = (object: CachedObject): void => {
        // Later changes have arrived as changes.
        if (view.get(object.key) === object) put(object);
      };
      scans.add(inSlices(objects, look, scans.signal));
    },
    put,
    delete(object) {
      const owner = owners.get(object.key);
      leave(object.key, owner);
      owners.delete(object.key);
      if (owner !== undefined) tell(object, owner);
    },
  });
  return {
    resource,
    of: (uid) => groups.get(uid)?.values() ?? [],
    countOf: (uid) => groups.get(uid)?.size ?? 0,
    orphansIn: (namespace) => groups.get(`/${namespace}`)?.values() ?? [],
    observe(observer) {
      observers.add(observer);
      return { [Symbol.dispose]: () => void observers.delete(observer) };
    },
    scanned: () => scans.idle(),
    [Symbol.dispose]() {
      scans[Symbol.dispose]();
      following[Symbol.dispose]();
    },
  };
}

/** Calls `add` with the key of an owner of this kind when one of its objects came, changed or went. */
export const followOwners = (
  objects: OwnedObjects,
  kind: string,
  { keys }: ControlledResource,
  add: (key: string) => void,
): Disposable =>
  objects.observe({
    owned(namespace, owner) {
      if (owner.kind === kind) add(keys.of(namespace, owner.name));
    },
  });
