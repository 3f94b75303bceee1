// Follows a prefix of the cache: its content first, then every change, like client-go's reflector (k8s.io/client-go/tools/cache/reflector.go) without
// a network in between.

import type { Steps } from "@postern/apimachinery/steps/steps";
import type { Clock, Scheduler } from "../runtime/clock.ts";
import { inTurns } from "../runtime/in-slices.ts";
import { RevisionCompactedError } from "../storage/storage-errors.ts";
import type { CachedObject } from "./cached-object.ts";
import type { CacheView, StoredContent } from "./watch-cache.ts";

/** A part of the cache that holds the objects of one resource. */
export type ViewPrefix = { readonly view: CacheView; readonly prefix: string };

/** Called synchronously, in revision order; must not throw. */
export type ViewFollower = {
  /** All there is: at the start, and again after a gap in the events. Whatever is not in it is gone. */
  replace(objects: readonly CachedObject[]): void;
  /** `content` is that of the object, where it is known without reading it. */
  put(object: CachedObject, previous: CachedObject | undefined, content?: StoredContent): void;
  /** `object` is the last state. */
  delete(object: CachedObject): void;
  /** After all that came at once. */
  settled?(): void;
  /** Events may be missing from here on, until `replace` is called with the whole content. */
  lost?(): void;
};

const RETRY_DELAY_MS = 50;

/** Has called `replace` once when it returns. A subscription that fails is renewed until the handle is disposed. */
export function followView({ view, prefix }: ViewPrefix, scheduler: Scheduler, follower: ViewFollower): Disposable {
  let disposed = false;
  let current: Disposable | undefined;

  const follow = (): void => {
    if (disposed) return;
    const from = view.revision;
    follower.replace(view.list(prefix));
    follower.settled?.();
    current = view.subscribe(prefix, from, {
      events(events) {
        for (const event of events) {
          if (event.type === "put") follower.put(event.object, event.previous, event.content);
          else follower.delete(event.object);
        }
        follower.settled?.();
      },
      error(error) {
        follower.lost?.();
        // The content of the view has been replaced already, so that nothing has to be waited for.
        if (error instanceof RevisionCompactedError) follow();
        else current = scheduler.schedule(RETRY_DELAY_MS, follow);
      },
    });
  };
  follow();

  return {
    [Symbol.dispose]() {
      disposed = true;
      current?.[Symbol.dispose]();
    },
  };
}

// Follows a prefix of the cache in parts, so that no turn of the event loop visits all objects: a tenant may have very many.

/** In revision order; must not throw. */
type PartsFollower = {
  /** Forget everything reported so far: the present objects follow one by one. */
  clear(): void;
  put(object: CachedObject, previous: CachedObject | undefined): void;
  /** `object` is the last state. */
  delete(object: CachedObject): void;
};

export type FollowedInParts = Disposable & {
  /** Undefined where all objects have been told. Otherwise resolves when they have been, or when the handle is disposed. */
  readonly ready: Promise<void> | undefined;
};

/** Changes that arrive while objects are reported are reported after them. */
export function followInParts(
  of: ViewPrefix,
  { clock, scheduler }: { readonly clock: Pick<Clock, "elapsed">; readonly scheduler: Scheduler },
  follower: PartsFollower,
): FollowedInParts {
  let ready: Promise<void> | undefined;
  /** Changes since the objects began to be told; undefined once they have been. */
  let changes: (() => void)[] | undefined;
  let isDisposed = false;

  function* tellAll(objects: readonly CachedObject[], own: readonly (() => void)[]): Steps<void> {
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
      const telling = inTurns(tellAll(objects, own), clock);
      // Few objects have been told when this returns.
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
