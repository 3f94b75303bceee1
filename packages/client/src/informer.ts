// Keeps a copy of a collection up to date: lists once, then watches, and lists again if the history has expired.
// Source: k8s.io/client-go/tools/cache/reflector.go

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type Delay, systemDelay } from "./delay.ts";
import { listPages, type ResourceClient } from "./resource-client.ts";

export type InformerEvent<T> =
  | { readonly type: "added"; readonly object: T }
  | { readonly type: "updated"; readonly object: T; readonly previous: T }
  /** `object` is the last state that was seen. */
  | { readonly type: "deleted"; readonly object: T };

export type InformerOptions<T extends KubeObject> = {
  readonly resource: ResourceClient<T>;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Objects per page of a list. Default: 500. */
  readonly pageSize?: number;
  /** Returns the part of each object to keep, for example without managed fields. Default: all of it. Source: client-go's SetTransform. */
  readonly transform?: (object: T) => T;
  /** Called for every change, in order, after the copy was updated. Must not throw. */
  readonly onEvent?: (event: InformerEvent<T>) => void;
  /** Called for errors that the informer recovers from. */
  readonly onError?: (error: unknown) => void;
  readonly delay?: Delay;
};

const MIN_BACKOFF_MS = 800;
const MAX_BACKOFF_MS = 30_000;

export class Informer<T extends KubeObject> {
  readonly #options: InformerOptions<T>;
  readonly #delay: Delay;
  readonly #objects = new Map<string, T>();
  readonly #synced: Promise<void>;
  #settleSync: { readonly resolve: () => void; readonly reject: (reason: unknown) => void } | undefined;
  #resourceVersion: string | undefined;
  #backoffMs = MIN_BACKOFF_MS;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#delay = options.delay ?? systemDelay;
    this.#synced = new Promise((resolve, reject) => {
      this.#settleSync = { resolve, reject };
    });
    // Its failure must not become an unhandled rejection.
    this.#synced.catch(() => undefined);
  }

  /** Resolves when the first list is complete. Rejects if the informer stopped before. */
  get synced(): Promise<void> {
    return this.#synced;
  }

  /** An object by its name; `namespace` is "" for cluster-scoped objects. */
  get(name: string, namespace = ""): T | undefined {
    return this.#objects.get(keyOf(namespace, name));
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  /** Runs until the signal aborts, and then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#relist(signal);
        const events = await this.#watch(signal);
        // Without this pause, a server that hangs up at once would be asked again and again.
        if (events === 0) await this.#backOff(signal);
      } catch (error) {
        if (signal.aborted) break;
        await this.#recover(error, signal);
      }
    }
    this.#settleSync?.reject(signal.reason);
  }

  async #relist(signal: AbortSignal): Promise<void> {
    const { resource, pageSize } = this.#options;
    const listed = { ...this.#selectors(), signal, ...(pageSize === undefined ? {} : { pageSize }) };
    const gone = new Set(this.#objects.keys());
    let resourceVersion: string | undefined;
    // Page by page, so that a thread that also renders is not blocked by all objects at once.
    for await (const { metadata, items } of listPages(resource, listed)) {
      // The version of the first page applies to all pages.
      resourceVersion ??= metadata.resourceVersion;
      for (const object of items) {
        gone.delete(keyOfObject(object));
        this.#store(object);
      }
    }
    for (const key of gone) this.#remove(key);
    this.#resourceVersion = resourceVersion;
    this.#settleSync?.resolve();
  }

  /** Resolves with the number of events once the server ends the watch. */
  async #watch(signal: AbortSignal): Promise<number> {
    let count = 0;
    const events = this.#options.resource.watch({
      ...this.#selectors(),
      ...(this.#resourceVersion === undefined ? {} : { resourceVersion: this.#resourceVersion }),
      allowWatchBookmarks: true,
      signal,
    });
    for await (const event of events) {
      count++;
      this.#backoffMs = MIN_BACKOFF_MS;
      if (event.type === "BOOKMARK") {
        this.#resourceVersion = event.resourceVersion;
        continue;
      }
      if (event.type === "DELETED") this.#remove(keyOfObject(event.object), event.object);
      else this.#store(event.object);
      this.#resourceVersion = event.object.metadata.resourceVersion;
    }
    return count;
  }

  /** 410: the history after our version is gone. Only a new list helps, at once unless one was just tried. */
  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    this.#options.onError?.(error);
    if (isApiError(error) && error.code === 410) {
      this.#resourceVersion = undefined;
      if (this.#backoffMs === MIN_BACKOFF_MS) {
        this.#backoffMs *= 2;
        return;
      }
    }
    await this.#backOff(signal);
  }

  async #backOff(signal: AbortSignal): Promise<void> {
    const wait = this.#backoffMs;
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS);
    // It rejects only when the signal aborts, which the loop checks itself.
    await this.#delay(wait, signal).catch(() => undefined);
  }

  #store(received: T): void {
    const key = keyOfObject(received);
    const previous = this.#objects.get(key);
    if (previous !== undefined && previous.metadata.resourceVersion === received.metadata.resourceVersion) return;
    const object = this.#options.transform?.(received) ?? received;
    this.#objects.set(key, object);
    this.#options.onEvent?.(previous === undefined ? { type: "added", object } : { type: "updated", object, previous });
  }

  #remove(key: string, last?: T): void {
    const object = last ?? this.#objects.get(key);
    if (object !== undefined && this.#objects.delete(key)) this.#options.onEvent?.({ type: "deleted", object });
  }

  #selectors(): { readonly labelSelector?: string; readonly fieldSelector?: string } {
    const { labelSelector, fieldSelector } = this.#options;
    return {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }
}

/** Neither part can contain a slash. */
const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;
const keyOfObject = ({ metadata }: KubeObject): string => keyOf(metadata.namespace ?? "", metadata.name ?? "");
