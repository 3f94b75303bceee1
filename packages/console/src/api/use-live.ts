// Collections and objects in views. They stay as the server has them by themselves.

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
  /** Names the collection, for `useLoaded`. */
  readonly id: string;
  /** Why the server refuses the list. */
  readonly error: Error | null;
  /** Asks once more. */
  readonly retry: () => void;
};

export type LiveOptions = {
  /** For one object: `metadata.name=demo`. */
  readonly fieldSelector?: string | undefined;
  /** Default true. */
  readonly isWanted?: boolean;
};

const NONE: readonly never[] = [];

/**
 * Everything at an address: listed once, then followed by a watch while a view shows it, and for a minute longer.
 *
 * Views get it as a deferred value: React renders ten thousand objects in slices, between which the page takes input. An update of a query
 * would be rendered in one task.
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
  // What is deferred may still be of the address before.
  const isShown = of === hash && items !== undefined;
  return {
    items: isShown ? items : NONE,
    id: hash,
    isLoading: isWanted && !isShown && error === null,
    error,
    retry: () => void refetch(),
  };
}

/** How many objects of a list that is loading have come so far. */
export function useLoaded({ id }: Pick<LiveList<unknown>, "id">): number {
  const { loaded } = useApi().live;
  return useSyncExternalStore(loaded.subscribe, () => loaded.count(id));
}

/** One object; undefined while it is loading, and where there is none. */
export function useLiveObject<T extends KubeObject>(address: ResourceAddress, name: string) {
  const { items, ...rest } = useLive<T>(address, { fieldSelector: `metadata.name=${name}` });
  return { object: items[0], ...rest };
}
