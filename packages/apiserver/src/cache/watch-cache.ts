// The port of the watch cache: the newest state of a whole store in memory, and its recent history for watches.
// Source of the idea: k8s.io/apiserver/pkg/storage/cacher

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Revision } from "../storage/storage.ts";
import type { CachedObject } from "./cached-object.ts";
import type { LabelledObjects } from "./label-index.ts";
import type { StoredUsage } from "./stored-usage.ts";

/** The object that a stored value encodes, but for the resourceVersion, and its sealed part. */
export type StoredContent = { readonly object: KubeObject; readonly sealed: JsonObject | undefined };

export type CacheEvent =
  | {
      readonly type: "put";
      readonly object: CachedObject;
      readonly previous: CachedObject | undefined;
      /** The content of `object`, if this process has just written it. */
      readonly content?: StoredContent | undefined;
    }
  /** `object` is the last state under the revision of the deletion. */
  | { readonly type: "delete"; readonly object: CachedObject; readonly previous: CachedObject };

export type CacheObserver = {
  /**
   * Events of one view, in revision order: the whole of one or more commits. All observers of a prefix are given the same array and
   * the same events. No observer is called before `subscribe` has returned; must not throw and must not block.
   */
  events(events: readonly CacheEvent[]): void;
  /**
   * Everything up to `revision` has been sent. Called once when the subscription has caught up with the view, then at most every
   * second while revisions pass that change nothing under its prefix.
   */
  progress?(revision: Revision): void;
  /** The subscription has ended: RevisionCompactedError, StorageUnavailableError, or the cache closed. No call follows. */
  error(error: Error): void;
};

/** `signal` is only read where there is something to wait for: that of a request is made on first use. */
export type WaitOptions = { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined };

export type CacheListOptions = { readonly startAfter?: string; readonly limit?: number };

/** Everything under one prefix, empty until the cache is ready. Lists and gets are synchronous and consistent with each other within one turn of the event loop. */
export interface CacheView {
  /** The revision that the view's content reflects. */
  readonly revision: Revision;
  /** No object of this view has changed since: a list at any revision from here on shows the present state. */
  readonly changedRevision: Revision;
  readonly size: number;
  get(key: string): CachedObject | undefined;
  /** In byte order of keys, all under `prefix`, which is under the view's own prefix. A snapshot: later changes do not affect it. */
  list(prefix: string, options?: CacheListOptions): readonly CachedObject[];
  /** Those that have this value of a label, where they can be known without looking at all. */
  labelled?(label: string, value: string): LabelledObjects | undefined;
  /** How many objects under `prefix` have a key greater than `startAfter`, without looking at each. */
  count(prefix: string, startAfter?: string): number;
  /**
   * Every event of this view under `prefix` after `fromRevision`, from memory or, when that is gone, from the history of the store;
   * RevisionCompactedError through `error` when the store has forgotten it too.
   */
  subscribe(prefix: string, fromRevision: Revision, observer: CacheObserver): Disposable;
}

export interface WatchCache extends AsyncDisposable {
  /** Resolves when the first state has been loaded. */
  ready(): Promise<void>;
  /** False while the cache is loading or cannot reach the store. */
  readonly healthy: boolean;
  readonly revision: Revision;
  /** How much it holds, by API surface. */
  readonly usage: StoredUsage;
  /**
   * Done once everything up to `revision` is visible, which may be at once.
   * Rejects with FutureRevisionError after `timeoutMs` (default 3000), or with the reason of `signal`.
   */
  waitFor(revision: Revision, options?: WaitOptions): Awaitable<void>;
  /**
   * Done once everything is visible that is known without asking to have been acknowledged, as what other threads of this server have written; at once
   * without a store. Rejects as waitFor does.
   */
  waitForKnown(options?: WaitOptions): Awaitable<void>;
  /** Whether everything that was acknowledged is visible. False also where the store has to be asked. */
  isNewest(): boolean;
  /** The newest acknowledged revision of the store, made visible: what a consistent read waits for. Rejects as waitFor does. */
  refresh(options?: WaitOptions): Promise<Revision>;
  /** The view of a prefix such as `/registry/<composition>/<group>/<resource>/`; the same one for the same prefix. */
  view(prefix: string): CacheView;
  /**
   * Lets go of the views below `prefix` that hold no object and have no subscription, with what they remember of the past. A view that
   * is asked for again is a new one; one from before is empty, and cannot be subscribed to. Views that hold objects and
   * have no subscription keep those alone: a watch from before gets its past from the store.
   */
  forget(prefix: string): void;
}
