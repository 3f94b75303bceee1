// The storage interface of the endpoint handlers for a resource, independent of its store.
// Source: k8s.io/apiserver/pkg/registry/rest/rest.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ParsedFieldSelector } from "@postern/apimachinery/selectors/field-selector";
import type { ParsedLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import type { CachedObject } from "../cache/cached-object.ts";
import type { RequestContext } from "../context/request-context.ts";
import type { Awaitable } from "../runtime/awaitable.ts";

/** Bounds on how fresh the answer must be; see the resourceVersion table of the Kubernetes API concepts. */
export type GetOptions = { readonly resourceVersion: string };

/** Selection of a list or a watch. */
export type Selection = {
  /** "" selects all namespaces. */
  readonly namespace: string;
  /** Absent selects everything. */
  readonly labelSelector?: ParsedLabelSelector;
  readonly fieldSelector?: ParsedFieldSelector;
  /** Added by the visibility of the resource: for this caller, only objects with a true result exist. */
  readonly visible?: (object: CachedObject) => boolean;
};

export type ListQuery = Selection & {
  /** 0 means all. */
  readonly limit: number;
  readonly continue: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
};

export type ListPage = {
  readonly items: readonly CachedObject[];
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
};

export type WatchQuery = Selection & {
  readonly resourceVersion: string;
  readonly allowWatchBookmarks: boolean;
  /** Undefined when the client did not say. */
  readonly sendInitialEvents: boolean | undefined;
};

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED";

/**
 * Reads the next objects in their current state, about `bytes` bytes of them. Returns an empty list if none of those it read matches. After the last
 * object it calls `initialEventsEnd` and returns undefined. The observer sends every event that it received before the call first. If a promise is
 * returned, the observer sends the objects before events that arrive in the meantime; a rejection ends the watch with that error.
 */
export type ReadInitialState = (bytes: number) => Awaitable<readonly CachedObject[] | undefined>;

export type WatchEventObserver = {
  /**
   * Called first, if at all: the state that the watch begins with is read as the client takes it, since a copy for each client that does not read would
   * take any amount of memory. Objects that have not been read change without an event.
   */
  initialState(read: ReadInitialState): void;
  /** Must not block; a watcher that cannot keep up disposes its watch. */
  event(type: WatchEventType, object: CachedObject): void;
  /** Everything that the watch began with has been read; `resourceVersion` is that of the state in the end. */
  initialEventsEnd(resourceVersion: string): void;
  /** The newest revision known to hold nothing unsent. */
  progress(resourceVersion: string): void;
  error(error: Error): void;
};

export type WriteOptions = { readonly dryRun: boolean };

export type UpdateRequest = {
  /** The uid that the object must have; "" for any. */
  readonly uid?: string;
  /** The object to store, computed from the current one; called again after a conflict. */
  transform(current: KubeObject): KubeObject | Promise<KubeObject>;
  /** Creates the object if it does not exist (server-side apply, create-on-update). */
  createWhenAbsent?(): KubeObject | Promise<KubeObject>;
  /** True when an object that is too large with its managed fields is refused rather than stored without them. */
  readonly keepsManagedFields?: boolean;
  /** "" for the main resource, "status" for its status, or a subresource that has `updates`. */
  readonly subresource: string;
};

export type DeleteOptions = {
  readonly dryRun: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
};

/** `removed` is false while finalizers hold the object, which then is given as it is now. */
export type DeleteOutcome = {
  readonly removed: boolean;
  readonly object: CachedObject;
  /** The object was being deleted already, and nothing was written. */
  readonly isUnchanged?: true;
};

/** An absent method means that the verb is not served. All throw ApiErrors. */
export type ResourceStorage = {
  get?(context: RequestContext, namespace: string, name: string, options: GetOptions): Awaitable<CachedObject>;
  list?(context: RequestContext, query: ListQuery): Awaitable<ListPage>;
  watch?(context: RequestContext, query: WatchQuery, observer: WatchEventObserver): Promise<Disposable>;
  create?(context: RequestContext, namespace: string, object: KubeObject, options: WriteOptions): Promise<CachedObject>;
  update?(
    context: RequestContext,
    namespace: string,
    name: string,
    request: UpdateRequest,
    options: WriteOptions,
  ): Promise<{ readonly object: CachedObject; readonly created: boolean }>;
  delete?(context: RequestContext, namespace: string, name: string, options: DeleteOptions): Promise<DeleteOutcome>;
  deleteCollection?(context: RequestContext, query: ListQuery, options: DeleteOptions): Awaitable<ListPage>;
};
