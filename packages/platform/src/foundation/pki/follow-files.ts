// Calls back when files may have changed: as soon as their directories report it, and once a minute.
// Source: k8s.io/apiserver/pkg/server/dynamiccertificates/dynamic_serving_content.go

import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

/** As kube-apiserver: some file systems report nothing. */
const INTERVAL_MS = 60_000;
/** The files of one renewal are written one after the other. */
const TOGETHER_MS = 100;

/**
 * Directories are watched, not files: a Secret that is mounted changes by a link beside its files, and other programs replace files by renaming.
 * `look` is never called twice at a time.
 */
export function followFiles(
  paths: readonly string[],
  scheduler: Scheduler,
  look: () => Promise<void>,
): Disposable & { lookIn(delayMs: number): void } {
  const directories = [...new Set(paths.map((path) => dirname(path)))];
  let watchers: readonly FSWatcher[] = [];
  let isDisposed = false;
  let isLooking = false;
  let isDue = false;
  let soon: Disposable | undefined;
  let poll: Disposable | undefined;

  const run = async (): Promise<void> => {
    if (isLooking) {
      isDue = true;
      return;
    }
    isLooking = true;
    try {
      do {
        isDue = false;
        await look();
      } while (isDue && !isDisposed);
    } finally {
      isLooking = false;
    }
  };
  const lookIn = (delayMs: number): void => {
    if (isDisposed || soon !== undefined) return;
    soon = scheduler.schedule(delayMs, () => {
      soon = undefined;
      return run();
    });
  };
  const close = (): void => {
    for (const watcher of watchers) watcher.close();
  };
  /** Anew each time: a directory that was replaced is another one. */
  const watchAll = (): void => {
    close();
    watchers = directories.flatMap((directory) => {
      try {
        const watcher = watch(directory, { persistent: false }, () => lookIn(TOGETHER_MS));
        watcher.on("error", () => watcher.close());
        return [watcher];
      } catch {
        // It is absent, or the system has no watches left: the next interval finds the change.
        return [];
      }
    });
  };
  const begin = (): void => {
    watchAll();
    poll = scheduler.schedule(INTERVAL_MS, () => {
      begin();
      return run();
    });
  };
  begin();
  return {
    lookIn,
    [Symbol.dispose]() {
      isDisposed = true;
      poll?.[Symbol.dispose]();
      soon?.[Symbol.dispose]();
      close();
    },
  };
}
