// Follows a prefix of the cache: its content first, then every change, like client-go's reflector (k8s.io/client-go/tools/cache/reflector.go) without
// a network in between.

import type { Scheduler } from "../runtime/clock.ts";
import { RevisionCompactedError } from "../storage/storage-errors.ts";
import type { CachedObject } from "./cached-object.ts";
import type { CacheView, StoredContent } from "./watch-cache.ts";

/** A part of the cache that holds the objects of one resource. */
export type ViewPrefix = { readonly view: CacheView; readonly prefix: string };

/** Called synchronously, in revision order; must not throw. Like client-go's handlers, it names the events that it needs. */
export type ViewFollower = {
  /** All there is: at the start, and again after a gap in the events. Whatever is not in it is gone. */
  replace?(objects: readonly CachedObject[]): void;
  /** `content` is that of the object, where it is known without reading it. */
  put?(object: CachedObject, previous: CachedObject | undefined, content?: StoredContent): void;
  /** `object` is the last state. */
  delete?(object: CachedObject): void;
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
    follower.replace?.(view.list(prefix));
    follower.settled?.();
    current = view.subscribe(prefix, from, {
      events(events) {
        for (const event of events) {
          if (event.type === "put") follower.put?.(event.object, event.previous, event.content);
          else follower.delete?.(event.object);
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
