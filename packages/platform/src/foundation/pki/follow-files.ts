// Calls back when files may have changed: as soon as their directories report it, and once a minute.
// Source: k8s.io/apiserver/pkg/server/dynamiccertificates/dynamic_serving_content.go

import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import type { Scheduler } from "@postern/apiserver/runtime/clock";

/** As kube-apiserver: some file systems report nothing. */
const INTERVAL_MS = 60_000;
/** The files of one renewal are written one after the other. */
const TOGETHER_MS = 100;

export type FollowedFiles = Disposable & {
  /** Looks after so long, unless a look is planned already. */
  lookIn(delayMs: number): void;
};

/**
 * Directories are watched, not files: a Secret that is mounted changes by a link beside its files, and other programs replace files by renaming.
 * `look` is never called twice at a time.
 */
export const followFiles = (paths: readonly string[], scheduler: Scheduler, look: () => Promise<void>): FollowedFiles =>
  new FilesFollower(paths, scheduler, look);

class FilesFollower implements FollowedFiles {
  readonly #directories: readonly string[];
  readonly #scheduler: Scheduler;
  readonly #look: () => Promise<void>;
  #watchers: readonly FSWatcher[] = [];
  #isDisposed = false;
  #isLooking = false;
  /** Another look was asked for while one is running. */
  #isDue = false;
  #soon: Disposable | undefined;
  #poll: Disposable | undefined;

  constructor(paths: readonly string[], scheduler: Scheduler, look: () => Promise<void>) {
    this.#directories = [...new Set(paths.map((path) => dirname(path)))];
    this.#scheduler = scheduler;
    this.#look = look;
    this.#begin();
  }

  lookIn(delayMs: number): void {
    if (this.#isDisposed || this.#soon !== undefined) return;
    this.#soon = this.#scheduler.schedule(delayMs, () => {
      this.#soon = undefined;
      return this.#run();
    });
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#poll?.[Symbol.dispose]();
    this.#soon?.[Symbol.dispose]();
    this.#close();
  }

  #begin(): void {
    this.#watchAll();
    this.#poll = this.#scheduler.schedule(INTERVAL_MS, () => {
      this.#begin();
      return this.#run();
    });
  }

  async #run(): Promise<void> {
    if (this.#isLooking) {
      this.#isDue = true;
      return;
    }
    this.#isLooking = true;
    try {
      do {
        this.#isDue = false;
        await this.#look();
      } while (this.#isDue && !this.#isDisposed);
    } finally {
      this.#isLooking = false;
    }
  }

  /** Anew each time: a directory that was replaced is another one. */
  #watchAll(): void {
    this.#close();
    this.#watchers = this.#directories.flatMap((directory) => {
      try {
        const watcher = watch(directory, { persistent: false }, () => this.lookIn(TOGETHER_MS));
        watcher.on("error", () => watcher.close());
        return [watcher];
      } catch {
        // It is absent, or the system has no watches left: the next interval finds the change.
        return [];
      }
    });
  }

  #close(): void {
    for (const watcher of this.#watchers) watcher.close();
  }
}
