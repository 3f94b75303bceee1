// Keeps the graph of dependents in step with the objects of every resource that is served.
// Source: k8s.io/kubernetes/pkg/controller/garbagecollector/graph_builder.go

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { CacheView } from "@postern/apiserver/cache/watch-cache";
import {
  type ControlledResource,
  type ControllerPort,
  withoutViews,
} from "@postern/apiserver/controllers/controller-port";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
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
  /** By the prefix of the resource. */
  readonly #followed = new Map<string, { readonly view: CacheView; readonly following: Disposable }>();
  readonly #changes: Disposable;
  readonly #scans = new Set<Promise<void>>();
  readonly #mayMatter = createLinkCheck();

  constructor(port: ControllerPort, graph: DependencyGraph, observer: GraphObserver) {
    this.#port = port;
    this.#graph = graph;
    this.#observer = observer;
    this.#changes = port.resources.onChange(() => this.#followResources());
    this.#followResources();
  }

  /** A definition that changed has another view of its objects; the one from before would keep its schema in memory. */
  #followResources(): void {
    const resources = new Map(
      withoutViews(this.#port.resources.all).map((resource) => [resource.keys.prefix, resource]),
    );
    for (const [prefix, { view, following }] of this.#followed) {
      const resource = resources.get(prefix);
      if (resource?.view === view) continue;
      following[Symbol.dispose]();
      this.#followed.delete(prefix);
      // No owner waits for objects that are not served.
      if (resource === undefined) this.#forgetBelow(prefix, () => true);
    }
    for (const [prefix, resource] of resources) {
      if (this.#followed.has(prefix)) continue;
      this.#followed.set(prefix, { view: resource.view, following: this.#follow(resource) });
    }
  }

  /** Resolves when every object that was there has been seen. */
  async scanned(): Promise<void> {
    while (this.#scans.size > 0) await Promise.all(this.#scans);
  }

  [Symbol.dispose](): void {
    this.#changes[Symbol.dispose]();
    for (const { following } of this.#followed.values()) following[Symbol.dispose]();
  }

  #follow({ definition, view, keys }: ControlledResource): Disposable {
    // Many resources of many clusters have no objects, and then there is nothing to stop.
    let stop: AbortController | undefined;
    const following = followView({ view, prefix: keys.prefix }, this.#port.runtime.scheduler, {
      replace: (objects) => {
        this.#forgetBelow(keys.prefix, (key) => view.get(key) === undefined);
        stop ??= objects.length === 0 ? undefined : new AbortController();
        const scanning = this.#scan({ definition, view }, objects, stop?.signal).finally(() =>
          this.#scans.delete(scanning),
        );
        this.#scans.add(scanning);
      },
      put: (object, previous) => {
        if (this.#mayMatter(object) || (previous !== undefined && this.#mayMatter(previous))) this.#take(object);
      },
      delete: (object) => {
        const { uid = "" } = linksOf(object).metadata;
        const { namespace, name } = keys.parse(object.key);
        this.#graph.rememberGone(uid, { group: definition.group, kind: definition.kind, namespace, name });
        this.#forget(object.key, uid);
      },
    });
    return {
      [Symbol.dispose]() {
        stop?.abort();
        following[Symbol.dispose]();
      },
    };
  }

  async #scan(
    { definition, view }: Pick<ControlledResource, "definition" | "view">,
    objects: readonly CachedObject[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const look = (object: CachedObject): void => {
      // Later changes have arrived as changes.
      if (view.get(object.key) !== object) return;
      try {
        if (this.#mayMatter(object)) this.#take(object);
      } catch (error) {
        this.#port.onError(error, object.key);
      }
    };
    await inSlices(objects, look, signal);
    // Owners may have gone unseen, or their kind may have become known.
    this.#observer.affected(this.#graph.dependentsOfKind(definition));
  }

  #take(object: CachedObject): void {
    this.#observer.affected(this.#graph.set(object.key, linksOf(object)));
  }

  #forgetBelow(prefix: string, isGone: (key: string) => boolean): void {
    for (const key of this.#graph.dependentsBelow(prefix)) if (isGone(key)) this.#forget(key, "");
  }

  #forget(key: string, uid: string): void {
    this.#observer.gone(key);
    this.#observer.affected(this.#graph.remove(key, uid));
  }
}

const readLinks = createMemberReader({
  metadata: {
    uid: true,
    ownerReferences: true,
    finalizers: true,
    deletionTimestamp: true,
    deletionGracePeriodSeconds: true,
  },
});

/** Members that the graph is made of; all others of a large object would be parsed for nothing. */
export function linksOf(object: CachedObject): Pick<KubeObject, "metadata"> {
  const { metadata = {} } = object.read(readLinks);
  // The store holds KubeObjects.
  return { metadata: metadata as KubeObject["metadata"] };
}

// With the quotes: without one of them, they also occur in texts and in managed fields.
const OWNER_REFERENCES = Buffer.from('"ownerReferences"');
const DELETION_TIMESTAMP = Buffer.from('"deletionTimestamp"');

/** False for the many objects that have neither owners nor are being deleted, found without parsing them. */
function createLinkCheck(): (object: CachedObject) => boolean {
  const reader = createMemberReader({ metadata: { ownerReferences: true, deletionTimestamp: true } });
  return (object) => {
    if (!object.mayHave(OWNER_REFERENCES) && !object.mayHave(DELETION_TIMESTAMP)) return false;
    const { metadata } = object.read(reader);
    return isJsonObject(metadata) && Object.keys(metadata).length > 0;
  };
}
