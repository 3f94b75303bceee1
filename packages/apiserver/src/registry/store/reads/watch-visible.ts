// A watch of what its caller may see, as the resource presents it. It ends if the visibility for the caller has changed, so that clients list again.

import type { CachedObject } from "../../../cache/cached-object.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { whenDone } from "../../../runtime/awaitable.ts";
import type { ResourceDefinition } from "../../resource-definition.ts";
import type { ResourceStorage, Selection, WatchEventObserver, WatchQuery } from "../../resource-storage.ts";
import type { FollowedVisibility, VisibleObjects } from "../../visibility.ts";

type WatchCall = {
  readonly context: RequestContext;
  readonly query: WatchQuery;
  readonly observer: WatchEventObserver;
};

const EVERYTHING: FollowedVisibility = { visible: "all", holds: () => true, [Symbol.dispose]() {} };

export async function watchVisible(
  {
    visibility,
    present,
  }: {
    readonly visibility: ResourceDefinition["visibility"];
    readonly present: ((object: CachedObject) => CachedObject) | undefined;
  },
  watch: Required<ResourceStorage>["watch"],
  { context, query, observer }: WatchCall,
): Promise<Disposable> {
  if (visibility === undefined && present === undefined) return await watch(context, query, observer);
  let over = false;
  let inner: Disposable | undefined;
  const end = (error: Error): void => {
    if (over) return;
    over = true;
    observer.error(error);
    inner?.[Symbol.dispose]();
  };
  const followed = (await visibility?.follow(context, end)) ?? EVERYTHING;
  const { visible } = followed;
  /** Asked before anything is judged or sent, so that nothing is shown by rights that are gone. */
  const goesOn = (): boolean => !over && followed.holds();

  const seen = visible === "all" ? "all" : (object: CachedObject) => goesOn() && visible(object);
  try {
    inner = await watch(context, narrowed(query, seen), {
      initialState: (read) =>
        observer.initialState((bytes) => {
          const objects = read(bytes);
          if (present === undefined) return objects;
          return whenDone(objects, (found) => found && (goesOn() ? found.map(present) : []));
        }),
      event: (type, object) => void (goesOn() && observer.event(type, present?.(object) ?? object)),
      initialEventsEnd: (resourceVersion) => void (goesOn() && observer.initialEventsEnd(resourceVersion)),
      progress: (resourceVersion) => void (goesOn() && observer.progress(resourceVersion)),
      error: (error) => {
        if (over) return;
        over = true;
        observer.error(error);
      },
    });
  } catch (error) {
    followed[Symbol.dispose]();
    throw error;
  }
  const begun = inner;
  if (over) begun[Symbol.dispose]();
  return {
    [Symbol.dispose]() {
      followed[Symbol.dispose]();
      begun[Symbol.dispose]();
    },
  };
}

/** Both what was asked for before and `visible` must hold. */
export function narrowed<Q extends Selection>(query: Q, visible: VisibleObjects): Q {
  if (visible === "all") return query;
  const { visible: earlier } = query;
  return { ...query, visible: earlier === undefined ? visible : (object) => earlier(object) && visible(object) };
}
