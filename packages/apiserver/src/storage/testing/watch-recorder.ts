// A watch observer for tests: records what it receives, and lets a test wait for it.

import type { Revision, Storage, StorageEvent } from "../storage.ts";
import { keyOf, revisionOf } from "../watcher-set.ts";

export class WatchRecorder implements Disposable {
  readonly events: StorageEvent[] = [];
  /** One for each call, in order. */
  readonly revisions: Revision[] = [];
  error: Error | undefined;
  #watch: Disposable | undefined;
  #wake: (() => void)[] = [];

  static start(storage: Storage, prefix: string, fromRevision: Revision): WatchRecorder {
    const recorder = new WatchRecorder();
    recorder.#watch = storage.watch(prefix, fromRevision, {
      events: (events, revision) => {
        recorder.events.push(...events);
        recorder.revisions.push(revision);
        recorder.#notify();
      },
      error: (error) => {
        if (recorder.error !== undefined) throw new Error("a watch ended twice");
        recorder.error = error;
        recorder.#notify();
      },
    });
    return recorder;
  }

  /** Such as `put /a/b@3`, `delete /a/b@4`. */
  get log(): string[] {
    return this.events.map((event) => `${event.type} ${keyOf(event)}@${revisionOf(event)}`);
  }

  async until(condition: (recorder: WatchRecorder) => boolean): Promise<void> {
    while (!condition(this)) {
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
      });
    }
  }

  async ended(): Promise<Error> {
    await this.until(() => this.error !== undefined);
    return this.error!;
  }

  /** Everything up to `revision` has been told. */
  async reached(revision: Revision): Promise<void> {
    await this.until(() => (this.revisions.at(-1) ?? 0) >= revision);
  }

  [Symbol.dispose](): void {
    this.#watch?.[Symbol.dispose]();
  }

  #notify(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }
}
