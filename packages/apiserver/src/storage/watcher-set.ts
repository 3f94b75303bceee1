// The watches of one store: each receives its events once and in order, also when an observer writes to the store.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import type { Revision, StorageEvent, WatchObserver } from "./storage.ts";

type Commit = { readonly events: readonly StorageEvent[]; readonly revision: Revision };

export class Watcher {
  readonly prefix: string;
  readonly observer: WatchObserver;
  /** Everything up to here has been sent, or was not asked for. */
  covered: Revision;
  /** False while the watcher is still being given history; it gets no new commits until then. */
  live: boolean;
  disposed = false;

  constructor(prefix: string, fromRevision: Revision, live: boolean, observer: WatchObserver) {
    this.prefix = prefix;
    this.covered = fromRevision;
    this.live = live;
    this.observer = observer;
  }

  /** Hands over what the watcher has not seen yet of `commit`. */
  offer({ events, revision }: Commit): void {
    if (this.disposed || revision <= this.covered) return;
    const { covered, prefix } = this;
    this.covered = revision;
    this.observer.events(
      events.filter((event) => revisionOf(event) > covered && keyOf(event).startsWith(prefix)),
      revision,
    );
  }
}

export class WatcherSet {
  readonly #watchers = new Set<Watcher>();
  readonly #queue: Commit[] = [];
  #delivering = false;

  get size(): number {
    return this.#watchers.size;
  }

  /** `live` says that the store has nothing in its history that this watcher waits for. */
  add(prefix: string, fromRevision: Revision, live: boolean, observer: WatchObserver): Watcher {
    const watcher = new Watcher(prefix, fromRevision, live, observer);
    this.#watchers.add(watcher);
    return watcher;
  }

  remove(watcher: Watcher): void {
    watcher.disposed = true;
    this.#watchers.delete(watcher);
  }

  /** Calls every live watcher before it returns; a commit made by an observer meanwhile follows this one for all of them. */
  deliver(commit: Commit): void {
    this.#queue.push(commit);
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        for (const watcher of this.#watchers) if (watcher.live) this.#offer(watcher, next);
      }
    } finally {
      this.#delivering = false;
    }
  }

  /** An observer that throws loses its own watch: the others, and the writes of the commit, continue. */
  #offer(watcher: Watcher, commit: Commit): void {
    try {
      watcher.offer(commit);
    } catch (error) {
      this.fail(
        watcher,
        error instanceof Error ? error : new Error("the observer of a watch failed", { cause: error }),
      );
    }
  }

  /** Ends one watch with an error. */
  fail(watcher: Watcher, error: Error): void {
    if (watcher.disposed) return;
    this.remove(watcher);
    // Its errors must not keep a commit from the watchers behind this one.
    caught(throwLater, () => watcher.observer.error(error))();
  }

  failAll(error: Error): void {
    for (const watcher of [...this.#watchers]) this.fail(watcher, error);
  }
}

export function keyOf(event: StorageEvent): string {
  return event.type === "put" ? event.entry.key : event.key;
}

export function revisionOf(event: StorageEvent): Revision {
  return event.type === "put" ? event.entry.revision : event.revision;
}
