// Says when a watch sends bookmarks: every minute, and once shortly before its deadline.
// Source: k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go (nextBookmarkTime)

import type { Clock, Scheduler } from "../../runtime/clock.ts";

const BOOKMARK_INTERVAL_MS = 60_000;
/** A last bookmark goes out this long before the deadline, so that the next watch starts close to where this one ended. */
const LAST_BOOKMARK_LEAD_MS = 2_000;

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
