// Every feature builds on this: the store with its cache in memory, and the resources of the management API. It knows no feature.

import { createPlatformNames, MANAGEMENT, type PlatformNames } from "@postern/api/platform-names";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createEventRecorder, type EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import { createRateLimiter, type RateLimit, type RateLimiter } from "@postern/apiserver/limits/rate-limiter";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { LimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { type ClockEpochs, sharedEpochsOf } from "@postern/apiserver/runtime/clock-epochs";
import type { Storage } from "@postern/apiserver/storage/storage";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import type { Configuration } from "./config/configuration.ts";
import { ONE_THREAD, rateShare, type ThreadShare } from "./config/thread-share.ts";
import type { KeyRing } from "./encryption/key-ring.ts";
import { createObjectLookup, type ObjectLookup } from "./lookup/object-lookup.ts";
import { type RecordKindName, recordPrefixOf } from "./store/record-kinds.ts";

export type FoundationParts = {
  readonly configuration: Configuration;
  readonly storage: Storage;
  /** Ready. */
  readonly cache: WatchCache;
  readonly runtime: Runtime;
  readonly keyRing: KeyRing;
  readonly metrics: ServerMetrics;
  /** Takes faults of work that no request waits for. `subject`: the part that failed, as the log names it. */
  readonly onError: (error: unknown, subject: string) => void;
  /** Threads that share limits of the server. Absent: there is one. */
  readonly share?: ThreadShare | undefined;
  /** Locks that all threads share, for limits of what is stored. Absent: there is one thread. */
  readonly limitLocks?: LimitLocks | undefined;
  /** Ends with the server. */
  readonly signal: AbortSignal;
};

export type Foundation = FoundationParts & {
  readonly share: ThreadShare;
  readonly names: PlatformNames;
  /** When the clock was set. */
  readonly epochs: ClockEpochs;
  /** The objects of a resource of the management API. Default: of the platform's own group, in no namespace. */
  objects(plural: string, place?: { readonly group?: string; readonly namespaced?: boolean }): ViewPrefix;
  /** Records that no resource serves. */
  records(kind: RecordKindName): ViewPrefix;
  /** A resource of the platform's own group. Throws until the management API is there. */
  own(kind: string): InstalledResource;
  /** The same in any group; "" for the core group. */
  installed(group: string, kind: string): InstalledResource;
  readonly lookup: ObjectLookup;
  /** A limit of the whole server, of which each of its threads has a share. */
  rateLimiter(limit: RateLimit): RateLimiter;
  /** Records a v1 Event about an object. */
  readonly recordEvent: EventRecorder;
};

/** The registry is asked once a request needs a resource: resources are made after the features that they belong to. */
export function createFoundation(parts: FoundationParts, registry: () => ResourceRegistry): Foundation {
  const { configuration, cache, runtime, onError, signal, share = ONE_THREAD } = parts;
  const names = createPlatformNames(configuration.platform);
  const { managementGroup } = names;
  const installed = (group: string, kind: string): InstalledResource => requiredResource(registry(), group, kind);
  return {
    ...parts,
    share,
    names,
    epochs: sharedEpochsOf(runtime.clock),
    objects(resource, { group = managementGroup, namespaced = false } = {}) {
      const { prefix } = createResourceKeys(MANAGEMENT, { group, resource, namespaced });
      return { view: cache.view(prefix), prefix };
    },
    records(kind) {
      const prefix = recordPrefixOf(MANAGEMENT, kind);
      return { view: cache.view(prefix), prefix };
    },
    own: (kind) => installed(managementGroup, kind),
    installed,
    lookup: createObjectLookup(registry, names, (signal) => cache.refresh({ signal })),
    rateLimiter: (limit) => createRateLimiter(rateShare(limit, share), runtime.clock),
    recordEvent: createEventRecorder({
      runtime,
      events: () => installed("", "Event"),
      component: names.name,
      onError,
      signal,
    }),
  };
}
