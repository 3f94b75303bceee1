// The one etcd watch that feeds all watches of the store. It moves between endpoints without a gap, and reports when it
// cannot.

import type { Revision, StorageEvent, WatchObserver } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError, StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { type Watcher, WatcherSet } from "@postern/apiserver/storage/watcher-set";
import type { EtcdConnection } from "../etcd-connection.ts";
import { closedError } from "../etcd-errors.ts";
import type { EtcdKeys } from "../etcd-keys.ts";
import type { Scheduler } from "../etcd-timers.ts";
import type { EtcdEvent, WatchResponse } from "../protocol/etcd-messages.ts";
import { CatchUp } from "./catch-up.ts";
import { type EtcdCommits, toCommits } from "./etcd-events.ts";
import { hasOrderedProgress } from "./etcd-version.ts";
import { EtcdWatchStream } from "./etcd-watch-stream.ts";
import { ObservedRevisions } from "./observed-revisions.ts";

/** A position in the history of one cluster: a restored backup starts another history. */
export type EtcdPosition = { readonly revision: Revision; readonly clusterId: number };

export type WatchFeedDeps = {
  readonly connection: EtcdConnection;
  readonly keys: EtcdKeys;
  readonly scheduler: Scheduler;
  readonly position: EtcdPosition;
  /** Linearizable. */
  readonly readPosition: () => Promise<EtcdPosition>;
  /** Creates a revision that this feed sees. */
  readonly tick: () => Promise<void>;
};

export type OwnKeyListener = (events: readonly EtcdEvent[]) => void;

/** An endpoint is lost after this many heartbeats without a response. */
const HEARTBEAT_MS = 1_000;
const SILENT_HEARTBEATS = 3;
/** Watches end with StorageUnavailableError after this long without a feed: at most 6 s after etcd stopped answering. */
const CUT_OFF_MS = 2_000;
const FIRST_RETRY_MS = 20;
const LAST_RETRY_MS = 1_000;
/** Delay before a progress request, so that events on their way can arrive. etcd sends history to its watches ten times a second. */
const LATE_MS = 20;
const VERY_LATE_MS = 250;

export class WatchFeed implements Disposable {
  readonly #deps: WatchFeedDeps;
  readonly #watchers = new WatcherSet();
  readonly #observed = new ObservedRevisions();
  readonly #catchUps = new Set<CatchUp>();
  readonly #ownKeyListeners = new Set<OwnKeyListener>();
  #clusterId: number;
  /** Every event up to here has been delivered; 0 before the first. */
  #reached: Revision;
  /** No key of the store changed after this revision and up to `#reached`; undefined while unknown. */
  #changed: Revision | undefined;
  #stream: EtcdWatchStream | undefined;
  #connected = false;
  #orderedProgress = false;
  #silence = 0;
  #heartbeat: Disposable | undefined;
  #retry: Disposable | undefined;
  #retryMs = FIRST_RETRY_MS;
  #late: Disposable | undefined;
  /** Progress was requested because a caller waits. */
  #hurrying = false;
  #expected: Revision = 0;
  #cutOffTimer: Disposable | undefined;
  /** Why watches cannot be served. */
  #cutOff: Error | undefined;
  #closed = false;
  readonly #firstContact: Promise<void>;
  #settleFirstContact = () => {};

  constructor(deps: WatchFeedDeps) {
    this.#deps = deps;
    this.#reached = deps.position.revision;
    this.#clusterId = deps.position.clusterId;
    // An etcd without any write is at revision 1.
    this.#changed = this.#reached <= 1 ? this.#reached : undefined;
    this.#firstContact = new Promise((resolve) => {
      this.#settleFirstContact = resolve;
    });
    this.#connect(this.#reached + 1);
  }

  /** Resolves once etcd has accepted the watch, or turned out to be unreachable. */
  firstContact(): Promise<void> {
    return this.#firstContact;
  }

  /** Undefined while watches are served. */
  get cutOff(): Error | undefined {
    return this.#cutOff;
  }

  watch(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable {
    const watcher = this.#watchers.add(prefix, fromRevision, fromRevision >= this.#reached, observer);
    const refusal = this.#closed ? closedError() : this.#cutOff;
    if (refusal !== undefined) queueMicrotask(() => this.#watchers.fail(watcher, refusal));
    const history = refusal === undefined && !watcher.live ? this.#catchUp(watcher) : undefined;
    return {
      [Symbol.dispose]: () => {
        this.#watchers.remove(watcher);
        history?.[Symbol.dispose]();
      },
    };
  }

  /** Resolves once all watches have been notified of `revision`, or if that cannot be known now. */
  observed(revision: Revision): Promise<void> {
    if (this.#closed) return Promise.reject(closedError());
    if (revision <= this.#reached || !this.#connected || this.#watchers.size === 0) return Promise.resolve();
    return this.#observed.wait(revision);
  }

  /** Watches wait for `revision`: they are notified of it even if no key of the store changes. */
  expect(revision: Revision): void {
    if (revision <= this.#reached || this.#watchers.size === 0) return;
    this.#expected = Math.max(this.#expected, revision);
    this.#hurry();
  }

  /** Reports all events after the watches were notified, including the server's own keys; some events repeat. */
  followOwnKeys(listener: OwnKeyListener): Disposable {
    this.#ownKeyListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#ownKeyListeners.delete(listener) };
  }

  [Symbol.dispose](): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#disconnect();
    for (const timer of [this.#retry, this.#late, this.#cutOffTimer]) timer?.[Symbol.dispose]();
    this.#failWatches(closedError());
    this.#observed.failAll(closedError());
    this.#settleFirstContact();
  }

  #hurry(): void {
    const delayMs = this.#orderedProgress ? LATE_MS : VERY_LATE_MS;
    this.#late ??= this.#deps.scheduler.schedule(delayMs, () => {
      this.#late = undefined;
      if (!this.#isLate) return;
      this.#hurrying = true;
      this.#stream?.requestProgress();
      // Etcd leaves the request unanswered while it has events to send.
      this.#hurry();
    });
  }

  get #isLate(): boolean {
    if (this.#closed || !this.#connected) return false;
    return this.#expected > this.#reached || this.#isUncertain;
  }

  /** Whether a watch catches up while it is unknown where the history ends. */
  get #isUncertain(): boolean {
    return this.#changed === undefined && this.#catchUps.size > 0;
  }

  #progress(revision: Revision): void {
    if (this.#orderedProgress) this.#reach(revision);
    if (!this.#hurrying) return;
    this.#hurrying = false;
    // A failure here affects the whole store, and is reported elsewhere.
    if (this.#isLate) this.#deps.tick().catch(() => {});
  }

  #connect(startRevision: Revision): void {
    const { connection, keys } = this.#deps;
    const stream = new EtcdWatchStream(connection, {
      range: keys.everything,
      startRevision,
      receive: (response) => this.#receive(response),
      lost: (error) => this.#lose(error),
    });
    this.#stream = stream;
    this.#silence = 0;
    this.#beat();
  }

  #beat(): void {
    this.#heartbeat = this.#deps.scheduler.schedule(HEARTBEAT_MS, () => {
      this.#observed.releaseOld();
      if (++this.#silence > SILENT_HEARTBEATS) {
        this.#lose(new StorageUnavailableError(`etcd at ${this.#stream?.endpoint.address} does not answer`));
        return;
      }
      this.#stream?.requestProgress();
      this.#beat();
    });
  }

  #receive(response: WatchResponse): void {
    this.#silence = 0;
    if (response.created === true) this.#created();
    else if (response.events !== undefined) {
      this.#apply(toCommits(this.#deps.keys, response.events, this.#reached));
      for (const listener of this.#ownKeyListeners) listener(response.events);
    } else this.#progress(response.header?.revision ?? 0);
  }

  #created(): void {
    this.#connected = true;
    this.#retryMs = FIRST_RETRY_MS;
    this.#cutOff = undefined;
    this.#cutOffTimer?.[Symbol.dispose]();
    this.#cutOffTimer = undefined;
    this.#settleFirstContact();
    this.#hurry();
    void this.#learnVersion();
  }

  async #learnVersion(): Promise<void> {
    const stream = this.#stream;
    if (stream === undefined) return;
    const { connection } = this.#deps;
    const { version = "" } = await stream.endpoint
      .call(connection.methods.status, {}, HEARTBEAT_MS)
      .catch(() => ({ version: "" }));
    if (stream === this.#stream) this.#orderedProgress = hasOrderedProgress(version);
  }

  #apply({ events, revision = 0, incomplete }: EtcdCommits): void {
    if (incomplete) {
      this.#lose(new RevisionCompactedError(this.#reached, revision));
      return;
    }
    const learned = this.#changed === undefined;
    this.#changed = Math.max(revision, this.#changed ?? 0);
    if (revision > this.#reached) this.#deliver({ events, revision });
    if (learned) for (const run of this.#catchUps) run.check();
  }

  #reach(revision: Revision): void {
    // No key of the store changed in between.
    if (revision > this.#reached) this.#deliver({ events: [], revision });
  }

  #deliver(commit: { readonly events: readonly StorageEvent[]; readonly revision: Revision }): void {
    this.#reached = commit.revision;
    this.#watchers.deliver(commit);
    this.#observed.reached(commit.revision);
  }

  #lose(error: Error): void {
    if (this.#closed) return;
    const lost = this.#stream;
    this.#disconnect();
    this.#observed.releaseAll();
    if (error instanceof RevisionCompactedError) this.#forget(error);
    else if (lost !== undefined) this.#deps.connection.leave(lost.endpoint);
    this.#cutOffTimer ??= this.#deps.scheduler.schedule(CUT_OFF_MS, () => {
      this.#cutOff = new StorageUnavailableError("etcd cannot be reached", { cause: error });
      this.#failWatches(this.#cutOff);
      this.#settleFirstContact();
    });
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    this.#retry = this.#deps.scheduler.schedule(this.#retryMs, () => void this.#reconnect());
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  async #reconnect(): Promise<void> {
    try {
      const { revision, clusterId } = await this.#deps.readPosition();
      if (this.#closed) return;
      if (clusterId !== this.#clusterId || revision < this.#reached) {
        // A backup was restored: the changes since then are unknown.
        this.#clusterId = clusterId;
        this.#forget(new RevisionCompactedError(this.#reached, revision));
      }
      if (this.#reached === 0) {
        this.#reached = revision;
        this.#connect(revision + 1);
      } else this.#connect(this.#reached);
    } catch {
      if (!this.#closed) this.#reconnectLater();
    }
  }

  /** Ends every watch, because the following events do not continue its history. */
  #forget(error: RevisionCompactedError): void {
    this.#reached = 0;
    this.#changed = undefined;
    this.#cutOff = new StorageUnavailableError("the watch of etcd is starting again", { cause: error });
    this.#failWatches(error);
  }

  #failWatches(error: Error): void {
    for (const run of this.#catchUps) run[Symbol.dispose]();
    this.#catchUps.clear();
    this.#watchers.failAll(error);
  }

  #disconnect(): void {
    this.#connected = false;
    this.#orderedProgress = false;
    this.#heartbeat?.[Symbol.dispose]();
    this.#stream?.[Symbol.dispose]();
    this.#stream = undefined;
  }

  #catchUp(watcher: Watcher): Disposable {
    const { connection, keys, scheduler } = this.#deps;
    const run = new CatchUp({
      connection,
      keys,
      scheduler,
      watcher,
      feed: { changed: () => this.#changed, reached: () => this.#reached },
      over: (error) => {
        this.#catchUps.delete(run);
        if (error !== undefined) this.#watchers.fail(watcher, error);
      },
    });
    this.#catchUps.add(run);
    // Only with a known end of the history can a watch detect that it has received all of it.
    if (this.#changed === undefined) this.#hurry();
    run.start();
    return run;
  }
}
