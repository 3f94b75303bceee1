// Follows a prefix of the cache in parts, so that no turn of the event loop visits all objects: a tenant may have very many.

import type { Steps } from "@postern/apimachinery/steps/steps";
import type { Clock, Scheduler } from "../runtime/clock.ts";
import { inTurns } from "../runtime/in-slices.ts";
import type { CachedObject } from "./cached-object.ts";
import { followView, type ViewPrefix } from "./view-informer.ts";

/** In revision order; must not throw. */
type PartsFollower = {
  /** Forget everything reported so far: the present objects follow one by one. */
  clear(): void;
  put(object: CachedObject, previous: CachedObject | undefined): void;
  /** `object` is the last state. */
  delete(object: CachedObject): void;
};

export type FollowedInParts = Disposable & {
  /** Undefined once all objects have been reported. Otherwise resolves when they are, or when the handle is disposed. */
  readonly ready: Promise<void> | undefined;
};

/** Changes that arrive while objects are reported are reported after them. */
export function followInParts(
  of: ViewPrefix,
  { clock, scheduler }: { readonly clock: Pick<Clock, "elapsed">; readonly scheduler: Scheduler },
  follower: PartsFollower,
): FollowedInParts {
  let ready: Promise<void> | undefined;
  /** Changes since the initial objects began to be delivered; undefined once they all have been. */
  let changes: (() => void)[] | undefined;
  let isDisposed = false;

  function* deliverAll(objects: readonly CachedObject[], own: readonly (() => void)[]): Steps<void> {
    for (const object of objects) {
      yield;
      // The state was replaced again, or the follower was disposed.
      if (isDisposed || changes !== own) return;
      follower.put(object, undefined);
    }
    // More may come meanwhile.
    for (const change of own) {
      yield;
      if (isDisposed || changes !== own) return;
      change();
    }
    changes = undefined;
    ready = undefined;
  }

  const tell = (change: () => void): void => {
    if (changes === undefined) change();
    else changes.push(change);
  };
  const following = followView(of, scheduler, {
    replace(objects) {
      follower.clear();
      const own: (() => void)[] = [];
      changes = own;
      const before = ready;
      const telling = inTurns(deliverAll(objects, own), clock);
      // Few objects have been reported when this returns.
      if (changes === own) ready = before === undefined ? telling : Promise.all([before, telling]).then(() => {});
    },
    put: (object, previous) => tell(() => follower.put(object, previous)),
    delete: (object) => tell(() => follower.delete(object)),
  });

  return {
    get ready() {
      return ready;
    },
    [Symbol.dispose]() {
      isDisposed = true;
      ready = undefined;
      following[Symbol.dispose]();
    },
  };
}
