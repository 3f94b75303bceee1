// Sleep of embedded virtual clusters, by the annotations of the original interface: `force` puts one to sleep,
// `force-duration` keeps requests from waking it, `last-activity` says when it was last used.

import type { PlatformNames } from "@postern/api/platform-names";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { VirtualClusterHealth } from "./virtual-cluster-backend.ts";

type Names = Pick<PlatformNames, "domain">;

export const SLEEPING = "Sleeping";

/** The message for a sleeping cluster. */
export const SLEEPING_HEALTH: VirtualClusterHealth = {
  ready: false,
  reason: SLEEPING,
  message: "sleeping; the next request wakes it up",
};

const forceKey = ({ domain }: Names): string => `sleepmode.${domain}/force`;
const durationKey = ({ domain }: Names): string => `sleepmode.${domain}/force-duration`;
const activityKey = ({ domain }: Names): string => `sleepmode.${domain}/last-activity`;

/** Whether it is put to sleep. Only embedded virtual clusters can sleep. */
export const isAsleep = ({ metadata }: KubeObject, names: Names): boolean =>
  metadata.annotations?.[forceKey(names)] === "true";

/** Whether requests do not wake it. `force-duration` is in seconds; 0: no limit. `now` in milliseconds. */
export function isHeldAsleep({ metadata, status }: VirtualClusterInstance, names: Names, now: number): boolean {
  const text = metadata.annotations?.[durationKey(names)];
  const seconds = text === undefined || text === "" ? Number.NaN : Number(text);
  if (!Number.isInteger(seconds) || seconds < 0) return false;
  if (seconds === 0) return true;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const since = Date.parse(ready?.lastTransitionTime ?? "");
  return !(now >= since + seconds * 1000);
}

/** The same object, awake. `now` in milliseconds. */
export function awakened<T extends KubeObject>(instance: T, names: Names, now: number): T {
  const { [forceKey(names)]: _, [durationKey(names)]: _held, ...annotations } = instance.metadata.annotations ?? {};
  const lastActivity = { [activityKey(names)]: String(Math.floor(now / 1000)) };
  return { ...instance, metadata: { ...instance.metadata, annotations: { ...annotations, ...lastActivity } } };
}
