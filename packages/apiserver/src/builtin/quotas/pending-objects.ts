// Objects that have been let in and are not in memory yet: they count, so that requests at one time do not each take the last place.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { InstalledResource } from "../../registry/resource-registry.ts";

/** A write that was let in has long been made, or refused by the store, after this. */
const PENDING_MS = 10_000;

type Place = Pick<InstalledResource, "keys" | "view">;

export type PendingObjects = {
  add(resource: Place, object: KubeObject): void;
  /** Those of a resource in a namespace, "" for all; what has arrived is forgotten. */
  in(resource: Place, namespace: string): readonly KubeObject[];
  /** All of them. */
  readonly size: number;
};

export function createPendingObjects(elapsed: () => number): PendingObjects {
  /** By key in the store. */
  const pending = new Map<string, { readonly object: KubeObject; readonly at: number; readonly resource: Place }>();

  function forgetArrived(): void {
    const now = elapsed();
    for (const [key, { at, resource }] of pending) {
      if (now - at > PENDING_MS || resource.view.get(key) !== undefined) pending.delete(key);
    }
  }

  return {
    add(resource, object) {
      const { namespace = "", name = "" } = object.metadata;
      pending.set(resource.keys.of(namespace, name), { object, at: elapsed(), resource });
    },
    in({ keys }, namespace) {
      if (pending.size === 0) return [];
      forgetArrived();
      const prefix = namespace === "" ? keys.prefix : keys.inNamespace(namespace);
      return [...pending].flatMap(([key, { object }]) => (key.startsWith(prefix) ? [object] : []));
    },
    get size() {
      if (pending.size > 0) forgetArrived();
      return pending.size;
    },
  };
}
