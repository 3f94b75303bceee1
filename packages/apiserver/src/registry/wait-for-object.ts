// Waits for an object that another writer creates.

import type { InstalledResource } from "./resource-registry.ts";

/** Resolves when a cluster-scoped object of that name is there; rejects with the reason of `signal`, or when the watch breaks. */
export function waitForObject(
  { view, keys }: Pick<InstalledResource, "view" | "keys">,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const key = keys.of("", name);
  if (view.get(key) !== undefined) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      subscription[Symbol.dispose]();
      signal.removeEventListener("abort", abort);
      settle();
    };
    const abort = (): void => finish(() => reject(signal.reason));
    const subscription = view.subscribe(keys.prefix, view.revision, {
      events(events) {
        if (events.some(({ type, object }) => type === "put" && object.key === key)) finish(resolve);
      },
      error: (error) => finish(() => reject(error)),
    });
    signal.addEventListener("abort", abort, { once: true });
  });
}
