// The objects that tokens are bound to: whether they exist, and notifications of their deletion.

import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type RevocationWatch, watchExpiry, watchRevocation } from "@postern/apiserver/authentication/revocation-watch";
import type { ResourceKeys } from "@postern/apiserver/cache/resource-keys";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Runtime, Scheduler } from "@postern/apiserver/runtime/clock";

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
export function findSubject(subjects: TokenSubjects, namespace: string, name: string): KubeObject | undefined {
  const object = storedAt(subjects, namespace, name);
  return object === undefined || isBeingDeleted(object) ? undefined : object;
}

export const isThere = (subjects: TokenSubjects, namespace: string, { name, uid }: ObjectIdentity): boolean =>
  findSubject(subjects, namespace, name)?.metadata.uid === uid;

/** Upstream's `jwt.DefaultLeeway`. */
const POD_LEEWAY_MS = 60_000;

/** A pod keeps its token while it terminates: its `deletionTimestamp` is the end of its grace period. */
export function isPodThere(
  subjects: TokenSubjects,
  namespace: string,
  { name, uid }: ObjectIdentity,
  now: number,
): boolean {
  const pod = storedAt(subjects, namespace, name);
  if (pod?.metadata.uid !== uid) return false;
  const end = endOfPod(pod);
  return end === undefined || end > now;
}

const storedAt = ({ view, keys }: TokenSubjects, namespace: string, name: string): KubeObject | undefined =>
  view.get(keys.of(namespace, name))?.decode();

/** When a pod that is being deleted loses its tokens, in milliseconds since the epoch. */
function endOfPod({ metadata: { deletionTimestamp } }: Pick<KubeObject, "metadata">): number | undefined {
  return deletionTimestamp ? Date.parse(deletionTimestamp) + POD_LEEWAY_MS : undefined;
}

type Place = { readonly namespace: string; readonly name: string };

/** Watches a credential that a change of this object may end, as `isOver` then says. */
export const untilChanged = (
  subjects: TokenSubjects,
  scheduler: Scheduler,
  place: Place,
  isOver: () => boolean,
): RevocationWatch => watchRevocation(isOver, (listener) => onChangeOf(subjects, scheduler, place, listener));

/** The same for a pod, whose tokens end by time alone where a finalizer keeps it. */
export const untilPodChanged = (
  subjects: TokenSubjects,
  runtime: Pick<Runtime, "clock" | "scheduler">,
  place: Place,
  isOver: () => boolean,
): RevocationWatch =>
  watchRevocation(isOver, (listener) => {
    let ending: Disposable | undefined;
    const look = (): void => {
      ending?.[Symbol.dispose]();
      const pod = storedAt(subjects, place.namespace, place.name);
      const end = pod && endOfPod(pod);
      ending = end === undefined ? undefined : watchExpiry(end, runtime)(listener);
      listener();
    };
    const following = onChangeOf(subjects, runtime.scheduler, place, look);
    return {
      [Symbol.dispose]() {
        following[Symbol.dispose]();
        ending?.[Symbol.dispose]();
      },
    };
  });

function onChangeOf(
  { view, keys }: TokenSubjects,
  scheduler: Scheduler,
  { namespace, name }: Place,
  listener: () => void,
): Disposable {
  const wanted = keys.of(namespace, name);
  const tell = ({ key }: { readonly key: string }): void => {
    if (key === wanted) listener();
  };
  return followView({ view, prefix: wanted }, scheduler, { replace: listener, put: tell, delete: tell });
}
