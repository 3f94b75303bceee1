// Admitted objects that are not in the cache yet. They count, so that concurrent requests do not all take the last place.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";

/** After this time, an admitted write has been committed or refused by the store. */
const PENDING_MS = 10_000;

type Place = Pick<InstalledResource, "keys" | "view">;

type PendingObjects = {
  /** `amounts` are those by which the object uses more than before, in billionths, by a name of what is limited. */
  add(resource: Place, object: KubeObject, amounts: ReadonlyMap<string, bigint>): void;
  /** Amount of a resource in a namespace, without objects that have reached the cache. */
  amount(resource: Place, namespace: string, name: string): bigint;
};

export function createPendingObjects(elapsed: () => number): PendingObjects {
  /** By key in the store. */
  const pending = new Map<
    string,
    {
      readonly amounts: ReadonlyMap<string, bigint>;
      readonly at: number;
      /** The revision of the object at admission; undefined without one. */
      readonly revision: number | undefined;
      readonly view: Place["view"];
    }
  >();

  function forgetArrived(): void {
    const now = elapsed();
    for (const [key, { at, revision, view }] of pending) {
      if (now - at > PENDING_MS || view.get(key)?.revision !== revision) pending.delete(key);
    }
  }

  return {
    add({ keys, view }, { metadata: { namespace = "", name = "" } }, amounts) {
      const key = keys.of(namespace, name);
      pending.set(key, { amounts, at: elapsed(), revision: view.get(key)?.revision, view });
    },
    amount({ keys }, namespace, name) {
      if (pending.size === 0) return 0n;
      forgetArrived();
      const prefix = keys.inNamespace(namespace);
      let sum = 0n;
      for (const [key, { amounts }] of pending) if (key.startsWith(prefix)) sum += amounts.get(name) ?? 0n;
      return sum;
    },
  };
}
