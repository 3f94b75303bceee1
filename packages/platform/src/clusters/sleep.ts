// Sleep of embedded virtual clusters, by the annotations in which clients of the original interface ask for it: `force` puts one to sleep,
// `force-duration` keeps requests from waking it, `last-activity` says when it was last used.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { VirtualClusterInstance } from "../api/virtual-cluster-instance.ts";
import type { PlatformNames } from "../platform-names.ts";
import type { VirtualClusterHealth } from "./virtual-cluster-backend.ts";

type Names = Pick<PlatformNames, "domain">;

export const SLEEPING = "Sleeping";

/** What is said of one that sleeps. */
export const SLEEPING_HEALTH: VirtualClusterHealth = {
  ready: false,
  reason: SLEEPING,
  message: "sleeping; the next request wakes it up",
};

const forceKey = ({ domain }: Names): string => `sleepmode.${domain}/force`;
const durationKey = ({ domain }: Names): string => `sleepmode.${domain}/force-duration`;
const activityKey = ({ domain }: Names): string => `sleepmode.${domain}/last-activity`;

/** Whether it is meant to sleep. Counts for embedded virtual clusters alone: others are run by others. */
export const isAsleep = ({ metadata }: KubeObject, names: Names): boolean =>
  metadata.annotations?.[forceKey(names)] === "true";

/** Whether only a change of its annotations wakes it. `force-duration` is in seconds; 0 is for ever. `now` in milliseconds. */
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
