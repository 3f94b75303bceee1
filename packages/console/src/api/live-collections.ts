// Collections that stay up to date: listed once, then watched for as long as a page shows them.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Delay } from "@postern/client/delay";
import { Informer } from "@postern/client/informer";
import type { ResourceClient } from "@postern/client/resource-client";
import type { QueryClient } from "@tanstack/react-query";

export const LIVE = "live";

/** Groups changes that arrive together into one update. */
const GATHER_MS = 60;

/** Objects processed per task. The page handles input between tasks. */
const PAGE_SIZE = 250;

export type LiveCollections = {
  /** Resolves with the first list; later changes go to the cache of `queryClient`. Rejects with the error of the list. */
  start<T extends KubeObject>(
    queryKey: readonly unknown[],
    resource: ResourceClient<T>,
    fieldSelector: string | undefined,
  ): Promise<readonly T[]>;
  /** The number of objects of a first list received so far, by the hash of its key. */
  readonly loaded: {
    readonly count: (hash: string) => number;
    readonly subscribe: (listener: () => void) => () => void;
  };
};

/** No page shows managed fields, and they are a large part of an object's size. */
function withoutManagedFields<T extends KubeObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Retrying does not help: the user may not list this, or the resource does not exist. */
const isFinal = (error: unknown): boolean => isApiError(error) && [400, 403, 404, 405].includes(error.code);

/** `delay`: waits before a retry. */
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
  // A collection that no page has shown for a while is dropped, together with its watch.
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
