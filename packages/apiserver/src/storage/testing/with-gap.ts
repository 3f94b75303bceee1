// A store whose watches can be made to miss what happens next.

import type { Storage, WatchObserver } from "../storage.ts";
import { RevisionCompactedError } from "../storage-errors.ts";
import { withMethods } from "./with-methods.ts";

/** `miss` ends all watches as a store does that has forgotten what comes after `revision`. */
export function withGap(inner: Storage): { readonly storage: Storage; miss(revision: number): void } {
  const watches = new Map<Disposable, WatchObserver>();
  const storage = withMethods(inner, {
    watch(prefix, from, observer) {
      const watch = inner.watch(prefix, from, observer);
      watches.set(watch, observer);
      return watch;
    },
  });
  return {
    storage,
    miss(revision) {
      for (const [watch, observer] of [...watches]) {
        watches.delete(watch);
        watch[Symbol.dispose]();
        observer.error(new RevisionCompactedError(revision, revision));
      }
    },
  };
}
