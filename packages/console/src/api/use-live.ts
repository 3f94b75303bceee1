// Hooks for collections and objects that stay up to date.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { collectionPath, createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { hashKey, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo, useSyncExternalStore } from "react";
import { useApi } from "./api-context.tsx";
import { LIVE } from "./live-collections.ts";

export type LiveList<T> = {
  /** Empty while it is loading. */
  readonly items: readonly T[];
  readonly isLoading: boolean;
  /** The ID of the collection, for `useLoaded`. */
  readonly id: string;
  /** The error of the list. */
  readonly error: Error | null;
  /** Lists again. */
  readonly retry: () => void;
};

export type LiveOptions = {
  /** For one object: `metadata.name=demo`. */
  readonly fieldSelector?: string | undefined;
  /** Default: true. */
  readonly isWanted?: boolean;
};

const NONE: readonly never[] = [];

/**
 * All objects at an address: listed once, then watched while a page shows them, and for a minute longer.
 *
 * Pages get them as a deferred value: React renders ten thousand objects in slices, and the page handles input in between. It would render
 * an update of a query in one task.
 */
export function useLive<T extends KubeObject>(address: ResourceAddress, options: LiveOptions = {}): LiveList<T> {
  const { client, live } = useApi();
  const { fieldSelector, isWanted = true } = options;
  const queryKey = [LIVE, collectionPath(address), fieldSelector ?? ""];
  const { data, error, refetch } = useQuery({
    queryKey,
    queryFn: () => live.start<T>(queryKey, createResourceClient<T>(client, address), fieldSelector),
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    structuralSharing: false,
    retry: false,
  });
  const hash = hashKey(queryKey);
  const { items, of } = useDeferredValue(useMemo(() => ({ items: data, of: hash }), [data, hash]));
  // A deferred value may still belong to the previous address.
  const isShown = of === hash && items !== undefined;
  return {
    items: isShown ? items : NONE,
    id: hash,
    isLoading: isWanted && !isShown && error === null,
    error,
    retry: () => void refetch(),
  };
}

/** How many objects of a list that is loading were received so far. */
export function useLoaded({ id }: Pick<LiveList<unknown>, "id">): number {
  const { loaded } = useApi().live;
  return useSyncExternalStore(loaded.subscribe, () => loaded.count(id));
}

/** One object; undefined while it is loading, and when it does not exist. */
export function useLiveObject<T extends KubeObject>(address: ResourceAddress, name: string) {
  const { items, ...rest } = useLive<T>(address, { fieldSelector: `metadata.name=${name}` });
  return { object: items[0], ...rest };
}
