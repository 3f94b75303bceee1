// Says when a watch ends, and when it sends bookmarks: every minute, and once shortly before its deadline.
// Source: k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go (nextBookmarkTime)

import type { Clock, Random, Scheduler } from "../../runtime/clock.ts";

const BOOKMARK_INTERVAL_MS = 60_000;
/** A last bookmark goes out this long before the deadline, so that the next watch starts close to where this one ended. */
const LAST_BOOKMARK_LEAD_MS = 2_000;

const MIN_TIMEOUT_SECONDS = 1_800;

/** Without a timeout of the client, ends are spread over half an hour, so that clients do not reconnect all at once. */
export function watchTimeoutOf(timeoutSeconds: number | undefined, { random }: { readonly random: Random }): number {
  if (timeoutSeconds !== undefined && timeoutSeconds !== 0) return timeoutSeconds * 1000;
  const [share = 0] = random.bytes(1);
  return MIN_TIMEOUT_SECONDS * 1000 * (1 + share / 256);
}

type BookmarkTarget = {
  /** The version that the client has seen everything up to; empty when there is none to tell. */
  progress(): string;
  send(progress: string): void;
};

export function scheduleBookmarks(
  { scheduler, clock }: { readonly scheduler: Scheduler; readonly clock: Pick<Clock, "elapsed"> },
  timeoutMs: number,
  target: BookmarkTarget,
): Disposable {
  const last = clock.elapsed() + timeoutMs - LAST_BOOKMARK_LEAD_MS;
  let next: Disposable | undefined;
  let sent = "";
  const scheduleNext = (): void => {
    const untilLast = last - clock.elapsed();
    next = untilLast <= 0 ? undefined : scheduler.schedule(Math.min(BOOKMARK_INTERVAL_MS, untilLast), send);
  };
  const send = (): void => {
    const progress = target.progress();
    if (progress !== "" && progress !== sent) target.send(progress);
    sent = progress;
    scheduleNext();
  };
  scheduleNext();
  return { [Symbol.dispose]: () => next?.[Symbol.dispose]() };
}
