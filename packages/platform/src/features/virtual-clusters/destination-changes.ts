// Notifies when the destination of a proxy path may have changed: instances, clusters, projects, and Secrets with kubeconfigs.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

/** Follows the views until disposed. The cache must be ready. */
export function createDestinationChanges(
  views: readonly ViewPrefix[],
  scheduler: Scheduler,
): PolicyVersion & Disposable {
  const listeners = new ChangeListeners();
  let version = 0;
  const change = (): void => {
    version++;
    listeners.call();
  };
  const followed = views.map((view) =>
    followView(view, scheduler, {
      replace: change,
      put(object, previous) {
        if (previous === undefined || !leadsToTheSame(previous, object)) change();
      },
      delete: change,
    }),
  );
  return {
    get version() {
      return version;
    },
    onChange: (listener) => listeners.add(listener),
    [Symbol.dispose]() {
      for (const handle of followed) handle[Symbol.dispose]();
    },
  };
}

/** Far more than an instance or a kubeconfig has: comparing would take longer than deciding again. */
const MOST_COMPARED_BYTES = 64 * 1024;

/** A new status, or a label, changes nothing. */
function leadsToTheSame(before: CachedObject, after: CachedObject): boolean {
  if (before.byteLength + after.byteLength > 2 * MOST_COMPARED_BYTES) return false;
  const [old, now] = [before.decode(), after.decode()];
  const parts = ["spec", "data"] as const;
  return old.metadata.uid === now.metadata.uid && parts.every((part) => equalJson(old[part], now[part]));
}
