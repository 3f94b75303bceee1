// The pods that have an address: only they can be endpoints. In a cluster without nodes they are few.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Pod } from "../../builtin/workloads/pods/pods.ts";

export type AddressedPods = Disposable & {
  /** By name. */
  in(namespace: string): readonly Pod[];
};

const ADDRESS = Buffer.from('"podIP"');

/** Calls back with the namespace of each pod with an address that is there, comes, changes or goes. */
export function followAddressedPods(
  { view, keys }: Pick<ControlledResource, "view" | "keys">,
  scheduler: Scheduler,
  onChange: (namespace: string) => void,
): AddressedPods {
  const known = new Map<string, Map<string, CachedObject>>();
  function put(object: CachedObject): void {
    const { namespace } = keys.parse(object.key);
    const pods = known.get(namespace) ?? new Map<string, CachedObject>();
    const hadOne = pods.delete(object.key);
    if (object.has(ADDRESS)) known.set(namespace, pods.set(object.key, object));
    else if (!hadOne) return;
    onChange(namespace);
  }
  function remove({ key }: CachedObject): void {
    const { namespace } = keys.parse(key);
    if (known.get(namespace)?.delete(key) !== true) return;
    if (known.get(namespace)?.size === 0) known.delete(namespace);
    onChange(namespace);
  }
  const following = followView({ view, prefix: keys.prefix }, scheduler, {
    replace(objects) {
      const before = [...known.keys()];
      known.clear();
      for (const namespace of before) onChange(namespace);
      for (const object of objects) put(object);
    },
    put,
    delete: remove,
  });
  return {
    // Stored objects have passed the schema of their kind.
    in: (namespace) => [...(known.get(namespace)?.values() ?? [])].map((cached) => cached.decode() as Pod),
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}
