// Narrows the lists and watches of a resource to what the caller may get.

import { expiredError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type {
  ResourceStorage,
  Selection,
  WatchEventObserver,
  WatchQuery,
} from "@postern/apiserver/registry/resource-storage";
import type { FilteredResource } from "./filtered-resources.ts";
import type { Visibility } from "./visibility.ts";

const RIGHTS_CHANGED = "what you may see has changed; list again";

/** For the `decorate` of a resource definition. */
export function filterByVisibility(
  visibility: Visibility,
  resource: FilteredResource,
): (storage: ResourceStorage) => ResourceStorage {
  return (storage) => {
    const { list, watch } = storage;
    return {
      ...storage,
      ...(list === undefined
        ? {}
        : {
            list: async (context, query) => {
              const visible = visibility.visibleTo(context, resource);
              return await list(context, visible === "all" ? query : narrowed(query, visible));
            },
          }),
      ...(watch === undefined
        ? {}
        : {
            watch: (context, query, observer) =>
              watchVisible(visibility, resource, watch, { context, query, observer }),
          }),
    };
  };
}

type WatchCall = {
  readonly context: RequestContext;
  readonly query: WatchQuery;
  readonly observer: WatchEventObserver;
};

/** Ends as an expired watch does when what the caller may see has changed, so that clients list anew. */
async function watchVisible(
  visibility: Visibility,
  resource: FilteredResource,
  watch: NonNullable<ResourceStorage["watch"]>,
  { context, query, observer }: WatchCall,
): Promise<Disposable> {
  const { rights } = visibility;
  const decidedAt = rights.version;
  const { visible, isOutdated } = visibility.follow(context, resource);
  let over = false;
  let inner: Disposable | undefined;

  /** Asked before anything is judged or sent, so that nothing is shown by rights that are gone. */
  const endsNow = (): boolean => {
    if (over) return true;
    if (!isOutdated()) return false;
    over = true;
    observer.error(expiredError(RIGHTS_CHANGED));
    inner?.[Symbol.dispose]();
    return true;
  };

  const isVisible = (object: CachedObject): boolean => !endsNow() && (visible === "all" || visible(object));
  inner = await watch(context, visible === "all" ? query : narrowed(query, isVisible), {
    event: (type, object) => void (endsNow() || observer.event(type, object)),
    initialEventsEnd: (resourceVersion) => void (endsNow() || observer.initialEventsEnd(resourceVersion)),
    progress: (resourceVersion) => void (endsNow() || observer.progress(resourceVersion)),
    error: (error) => {
      if (over) return;
      over = true;
      observer.error(error);
    },
  });
  if (over) inner[Symbol.dispose]();
  // Also where nothing happens that would be judged: a client may show what is not for its user any more.
  context.open?.keep({ rights, decidedAt, holds: () => !endsNow(), onLost: () => {} });
  return inner;
}

/** Both what was asked for before and `visible` must hold. */
function narrowed<Q extends Selection>(query: Q, visible: (object: CachedObject) => boolean): Q {
  const { visible: earlier } = query;
  return { ...query, visible: earlier === undefined ? visible : (object) => earlier(object) && visible(object) };
}
