// Sleep of embedded virtual clusters and spaces, by the annotations of the original interface: `force` puts one to sleep,
// `force-duration` keeps requests from waking it, `last-activity` says when it was last used, and `sleeping-since` is the server's.

import type { PlatformNames } from "@postern/api/platform-names";
import type { SpaceInstance } from "@postern/api/space-instance";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { VirtualClusterHealth } from "./virtual-cluster-backend.ts";

type Names = Pick<PlatformNames, "domain">;

/** On the built-in cluster, each of them is an embedded cluster of its own. */
export type SleepingKind = "VirtualClusterInstance" | "SpaceInstance";
export type SleepingInstance = VirtualClusterInstance | SpaceInstance;

export const SLEEPING = "Sleeping";

/** The message for a sleeping cluster. */
export const SLEEPING_HEALTH: VirtualClusterHealth = {
  ready: false,
  reason: SLEEPING,
  message: "sleeping; the next request wakes it up",
};

export function phaseOf(health: VirtualClusterHealth): "Ready" | "Sleeping" | "Pending" {
  if (health.ready) return "Ready";
  return health.reason === SLEEPING ? "Sleeping" : "Pending";
}

const forceKey = ({ domain }: Names): string => `sleepmode.${domain}/force`;
const durationKey = ({ domain }: Names): string => `sleepmode.${domain}/force-duration`;
const activityKey = ({ domain }: Names): string => `sleepmode.${domain}/last-activity`;

const sinceKey = ({ domain }: Names): string => `sleepmode.${domain}/sleeping-since`;

/** Whether it is put to sleep. Only embedded virtual clusters and spaces can sleep. */
export const isAsleep = ({ metadata }: KubeObject, names: Names): boolean =>
  metadata.annotations?.[forceKey(names)] === "true";

/** Whether requests do not wake it. `force-duration` is in seconds; 0: no limit. `now` in milliseconds. */
export function isHeldAsleep({ metadata, status }: SleepingInstance, names: Names, now: number): boolean {
  const text = metadata.annotations?.[durationKey(names)];
  const seconds = text === undefined || text === "" ? Number.NaN : Number(text);
  if (!Number.isInteger(seconds) || seconds < 0) return false;
  if (seconds === 0) return true;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const since = Date.parse(ready?.lastTransitionTime ?? "");
  return !(now >= since + seconds * 1000);
}

/** Records since when it sleeps, by which clients know that there is something to wake. `old` is absent on create; `now` in milliseconds. */
export function withSleepingSince<T extends KubeObject>(
  instance: T,
  old: KubeObject | undefined,
  sleeps: boolean,
  { names, now }: { readonly names: Names; readonly now: number },
): T {
  const key = sinceKey(names);
  const { [key]: sent, ...annotations } = instance.metadata.annotations ?? {};
  const before = old !== undefined && isAsleep(old, names) ? old.metadata.annotations?.[key] : undefined;
  const since = sleeps && isAsleep(instance, names) ? (before ?? String(Math.floor(now / 1000))) : undefined;
  if (since === sent) return instance;
  const kept = since === undefined ? annotations : { ...annotations, [key]: since };
  return { ...instance, metadata: { ...instance.metadata, annotations: kept } };
}

/** The same object, awake. `now` in milliseconds. */
export function awakened<T extends KubeObject>(instance: T, names: Names, now: number): T {
  const { [forceKey(names)]: _, [durationKey(names)]: _held, ...annotations } = instance.metadata.annotations ?? {};
  const lastActivity = { [activityKey(names)]: String(Math.floor(now / 1000)) };
  return { ...instance, metadata: { ...instance.metadata, annotations: { ...annotations, ...lastActivity } } };
}
