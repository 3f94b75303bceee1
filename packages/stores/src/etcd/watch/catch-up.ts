// Brings one watch from a past revision up to the shared feed, with an etcd watch of its own.

import type { Revision } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import type { Watcher } from "@postern/apiserver/storage/watcher-set";
import type { EtcdConnection } from "../etcd-connection.ts";
import type { EtcdKeys } from "../etcd-keys.ts";
import type { Scheduler } from "../etcd-timers.ts";
import type { WatchResponse } from "../protocol/etcd-messages.ts";
import { toCommits } from "./etcd-events.ts";
import { EtcdWatchStream } from "./etcd-watch-stream.ts";

export type CatchUpDeps = {
  readonly connection: EtcdConnection;
  readonly keys: EtcdKeys;
  readonly scheduler: Scheduler;
  readonly watcher: Watcher;
  readonly feed: {
    /** No key of the store changed after this revision and up to `reached`; undefined while unknown. */
    readonly changed: () => Revision | undefined;
    readonly reached: () => Revision;
  };
  /** The watcher is live, or cannot become live because of the error. */
  readonly over: (error?: Error) => void;
};

const TRIES = 5;
const RETRY_MS = 100;

export class CatchUp implements Disposable {
  readonly #deps: CatchUpDeps;
  #stream: EtcdWatchStream | undefined;
  #retry: Disposable | undefined;
  #failures = 0;

  constructor(deps: CatchUpDeps) {
    this.#deps = deps;
  }

  /** Calls the watcher from the next microtask on. */
  start(): void {
    if (this.#complete) queueMicrotask(() => this.check());
    else this.#open();
  }

  /** The watcher is live once its own events have reached those of the feed. */
  check(): void {
    const { watcher, feed } = this.#deps;
    if (watcher.disposed) {
      this[Symbol.dispose]();
      return;
    }
    if (!this.#complete) {
      if (this.#stream === undefined && this.#retry === undefined) this.#open();
      return;
    }
    this[Symbol.dispose]();
    watcher.live = true;
    watcher.offer({ events: [], revision: feed.reached() });
  }

  [Symbol.dispose](): void {
    this.#stream?.[Symbol.dispose]();
    this.#retry?.[Symbol.dispose]();
    this.#deps.over();
  }

  get #complete(): boolean {
    const { watcher, feed } = this.#deps;
    return watcher.covered >= Math.min(feed.changed() ?? feed.reached(), feed.reached());
  }

  #open(): void {
    const { connection, keys, watcher } = this.#deps;
    this.#retry = undefined;
    this.#stream = new EtcdWatchStream(connection, {
      range: keys.everything,
      // Revisions begin at 1.
      startRevision: Math.max(watcher.covered, 1),
      receive: (response) => this.#receive(response),
      lost: (error) => this.#lose(error),
    });
  }

  #receive({ events: told }: WatchResponse): void {
    const { keys, watcher } = this.#deps;
    if (told !== undefined) {
      const { events, revision = 0, incomplete } = toCommits(keys, told, watcher.covered);
      if (incomplete) {
        this.#lose(new RevisionCompactedError(watcher.covered, revision));
        return;
      }
      this.#failures = 0;
      watcher.offer({ events, revision });
    }
    this.check();
  }

  #lose(error: Error): void {
    const { connection, scheduler, watcher, over } = this.#deps;
    const lost = this.#stream;
    this.#stream = undefined;
    lost?.[Symbol.dispose]();
    if (watcher.disposed) return;
    if (error instanceof RevisionCompactedError || ++this.#failures >= TRIES) {
      over(error);
      return;
    }
    if (lost !== undefined) connection.leave(lost.endpoint);
    this.#retry = scheduler.schedule(RETRY_MS, () => this.#open());
  }
}
