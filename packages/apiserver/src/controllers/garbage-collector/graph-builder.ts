// Keeps the graph of dependents in step with the objects of every resource that is served.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/graph_builder.go

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../../cache/cached-object.ts";
import { followView } from "../../cache/follow-view.ts";
import { createMemberReader } from "../../cache/read-members.ts";
import type { CacheView } from "../../cache/watch-cache.ts";
import { inSlices } from "../../runtime/in-slices.ts";
import { type ControlledResource, type ControllerPort, withoutViews } from "../controller-port.ts";
import type { DependencyGraph } from "./dependency-graph.ts";

export type GraphObserver = {
  /** Objects that have to be looked at because of a change. */
  affected(keys: Iterable<string>): void;
  /** The object is gone. */
  gone(key: string): void;
};

export class GraphBuilder implements Disposable {
  readonly #port: ControllerPort;
  readonly #graph: DependencyGraph;
  readonly #observer: GraphObserver;
  readonly #followed = new Map<string, Disposable>();
  readonly #scans = new Set<Promise<void>>();
  readonly #mayMatter = createLinkCheck();

  constructor(port: ControllerPort, graph: DependencyGraph, observer: GraphObserver) {
    this.#port = port;
    this.#graph = graph;
    this.#observer = observer;
    this.refresh();
  }

  /** Takes notice of resources that have been added or removed. */
  refresh(): void {
    const resources = new Map(withoutViews(this.#port.resources()).map((resource) => [resource.keys.prefix, resource]));
    for (const [prefix, handle] of this.#followed) {
      if (resources.has(prefix)) continue;
      handle[Symbol.dispose]();
      this.#followed.delete(prefix);
    }
    for (const [prefix, resource] of resources) {
      if (!this.#followed.has(prefix)) this.#followed.set(prefix, this.#follow(resource));
    }
    // An owner's kind may have become known.
    this.#observer.affected(this.#graph.allDependents);
  }

  /** Resolves when every object that was there has been seen. */
  async scanned(): Promise<void> {
    while (this.#scans.size > 0) await Promise.all(this.#scans);
  }

  [Symbol.dispose](): void {
    for (const handle of this.#followed.values()) handle[Symbol.dispose]();
  }

  #follow({ view, keys }: ControlledResource): Disposable {
    // Many resources of many clusters have no objects, and then there is nothing to stop.
    let stop: AbortController | undefined;
    const following = followView({ view, prefix: keys.prefix }, this.#port.runtime.scheduler, {
      replace: (objects) => {
        for (const key of [...this.#graph.allDependents]) {
          if (key.startsWith(keys.prefix) && view.get(key) === undefined) this.#forget(key, "");
        }
        stop ??= objects.length === 0 ? undefined : new AbortController();
        const scanning = this.#scan(view, objects, stop?.signal).finally(() => this.#scans.delete(scanning));
        this.#scans.add(scanning);
      },
      put: (object, previous) => {
        if (this.#mayMatter(object) || (previous !== undefined && this.#mayMatter(previous))) this.#take(object);
      },
      delete: (object) => this.#forget(object.key, linksOf(object).metadata.uid ?? ""),
    });
    return {
      [Symbol.dispose]() {
        stop?.abort();
        following[Symbol.dispose]();
      },
    };
  }

  async #scan(view: CacheView, objects: readonly CachedObject[], signal: AbortSignal | undefined): Promise<void> {
    const look = (object: CachedObject): void => {
      // What has changed since then was told as a change.
      if (view.get(object.key) !== object) return;
      try {
        if (this.#mayMatter(object)) this.#take(object);
      } catch (error) {
        this.#port.onError(error, object.key);
      }
    };
    await inSlices(objects, look, signal);
    // Owners may have gone unseen.
    this.#observer.affected(this.#graph.allDependents);
  }

  #take(object: CachedObject): void {
    this.#observer.affected(this.#graph.set(object.key, linksOf(object)));
  }

  #forget(key: string, uid: string): void {
    this.#observer.gone(key);
    this.#observer.affected(this.#graph.remove(key, uid));
  }
}

const readLinks = createMemberReader({
  metadata: { uid: true, ownerReferences: true, finalizers: true, deletionTimestamp: true },
});

/** What the graph is made of; all else of a large object would be parsed for nothing. */
function linksOf(object: CachedObject): Pick<KubeObject, "metadata"> {
  const { metadata = {} } = object.read(readLinks);
  // The store holds KubeObjects.
  return { metadata: metadata as KubeObject["metadata"] };
}

/** False for the many objects that have neither owners nor are being deleted, told without parsing them. */
function createLinkCheck(): (object: CachedObject) => boolean {
  const reader = createMemberReader({ metadata: { ownerReferences: true, deletionTimestamp: true } });
  return (object) => {
    const { metadata } = object.read(reader);
    return isJsonObject(metadata) && Object.keys(metadata).length > 0;
  };
}
