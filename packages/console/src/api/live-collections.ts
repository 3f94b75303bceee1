// Collections that stay as the server has them: listed once, then followed by a watch, for as long as a view shows them.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Delay } from "@postern/client/delay";
import { Informer } from "@postern/client/informer";
import type { ResourceClient } from "@postern/client/resource-client";
import type { QueryClient } from "@tanstack/react-query";

export const LIVE = "live";

/** Changes that come together are shown together. */
const GATHER_MS = 60;

/** Objects that are taken in one task: the page is free for input between two of them. */
const PAGE_SIZE = 250;

export type LiveCollections = {
  /** Resolves with the first list; what comes after it goes to the cache of `queryClient`. Throws what refuses the list. */
  start<T extends KubeObject>(
    queryKey: readonly unknown[],
    resource: ResourceClient<T>,
    fieldSelector: string | undefined,
  ): Promise<readonly T[]>;
  /** How many objects of a first list have come so far, by the hash of its key. */
  readonly loaded: {
    readonly count: (hash: string) => number;
    readonly subscribe: (listener: () => void) => () => void;
  };
};

/** No view shows who wrote which field, which is a good part of what objects take. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Asking again does not help: nobody may list this, or there is nothing of the kind. */
const isFinal = (error: unknown): boolean => isApiError(error) && [400, 403, 404, 405].includes(error.code);

/** `delay`: how failures are waited out. */
export function createLiveCollections(queryClient: QueryClient, delay: Delay): LiveCollections {
  const running = new Map<string, AbortController>();
  const counts = new Map<string, number>();
  const listeners = new Set<() => void>();
  const end = (hash: string): void => {
    running.get(hash)?.abort();
    running.delete(hash);
    counts.delete(hash);
  };
  const count = (hash: string, objects: number): void => {
    counts.set(hash, objects);
    for (const listener of listeners) listener();
  };
  // A collection that no view has shown for a while is dropped, and with it its watch.
  queryClient.getQueryCache().subscribe(({ type, query }) => {
    if (type === "removed") end(query.queryHash);
  });

  return {
    loaded: {
      count: (hash) => counts.get(hash) ?? 0,
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    start: (queryKey, resource, fieldSelector) => {
      const hash = JSON.stringify(queryKey);
      end(hash);
      const controller = new AbortController();
      running.set(hash, controller);
      const { signal } = controller;
      let isSynced = false;
      let isGathering = false;
      let objects = 0;
      return new Promise((resolve, reject) => {
        const informer = new Informer({
          resource,
          delay,
          pageSize: PAGE_SIZE,
          transform: withoutManagedFields,
          ...(fieldSelector === undefined ? {} : { fieldSelector }),
          onEvent: () => {
            if (!isSynced) {
              objects++;
              if (objects % PAGE_SIZE === 0) count(hash, objects);
              return;
            }
            if (isGathering) return;
            isGathering = true;
            setTimeout(() => {
              isGathering = false;
              if (!signal.aborted) queryClient.setQueryData(queryKey, informer.list());
            }, GATHER_MS);
          },
          onError(error) {
            if (!isFinal(error)) return;
            end(hash);
            if (isSynced) void queryClient.resetQueries({ queryKey, exact: true });
            else reject(error);
          },
        });
        void informer.run(signal);
        informer.synced.then(
          () => {
            isSynced = true;
            counts.delete(hash);
            resolve(informer.list());
          },
          () => reject(signal.reason),
        );
      });
    },
  };
}
