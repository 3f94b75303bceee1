// Adds the keys of a resource's objects to the work queue of a controller.

import { followView } from "../cache/view-informer.ts";
import type { Scheduler } from "../runtime/clock.ts";
import type { ControlledResource } from "./controller-port.ts";

/** Calls back with the key of every object that is there, comes, changes or goes, until it is disposed. */
export function followKeys(
  { view, keys }: Pick<ControlledResource, "view" | "keys">,
  scheduler: Scheduler,
  onKey: (key: string) => void,
): Disposable {
  const tell = ({ key }: { readonly key: string }): void => onKey(key);
  return followView({ view, prefix: keys.prefix }, scheduler, {
    replace(objects) {
      for (const object of objects) tell(object);
    },
    put: tell,
    delete: tell,
  });
}
