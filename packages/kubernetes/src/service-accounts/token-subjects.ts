// The objects that tokens are bound to: whether they exist, and notifications of their deletion.

import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type RevocationWatch, watchRevocation } from "@postern/apiserver/authentication/revocation-watch";
import type { ResourceKeys } from "@postern/apiserver/cache/resource-keys";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

/** The objects of one resource of a cluster. */
export type TokenSubjects = { readonly view: ViewPrefix["view"]; readonly keys: ResourceKeys };

/** Kinds that a token may be bound to, under the names of their claims. */
export type BoundKind = "pod" | "secret" | "node";

/** All objects of a cluster that tokens name. */
export type TokenObjects = {
  readonly accounts: TokenSubjects;
  readonly bound: Readonly<Record<BoundKind, TokenSubjects>>;
};

/** An object by name that has to be the same one still. */
export type ObjectIdentity = { readonly name: string; readonly uid: string };

/** Undefined also where it is being deleted. */
export function findSubject({ view, keys }: TokenSubjects, namespace: string, name: string): KubeObject | undefined {
  const object = view.get(keys.of(namespace, name))?.decode();
  return object === undefined || isBeingDeleted(object) ? undefined : object;
}

export const isThere = (subjects: TokenSubjects, namespace: string, { name, uid }: ObjectIdentity): boolean =>
  findSubject(subjects, namespace, name)?.metadata.uid === uid;

/** Upstream's `jwt.DefaultLeeway`. */
const POD_LEEWAY_MS = 60_000;

/** A pod keeps its token while it terminates: its `deletionTimestamp` is the end of its grace period. */
export function isPodThere(
  { view, keys }: TokenSubjects,
  namespace: string,
  { name, uid }: ObjectIdentity,
  now: number,
): boolean {
  const pod = view.get(keys.of(namespace, name))?.decode().metadata;
  if (pod === undefined || pod.uid !== uid) return false;
  return !pod.deletionTimestamp || Date.parse(pod.deletionTimestamp) + POD_LEEWAY_MS > now;
}

/** Watches a credential that a change of this object may end, as `isOver` then says. */
export const untilChanged = (
  { view, keys }: TokenSubjects,
  scheduler: Scheduler,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  isOver: () => boolean,
): RevocationWatch =>
  watchRevocation(isOver, (listener) => {
    const wanted = keys.of(namespace, name);
    const tell = ({ key }: { readonly key: string }): void => {
      if (key === wanted) listener();
    };
    return followView({ view, prefix: wanted }, scheduler, { replace: listener, put: tell, delete: tell });
  });
