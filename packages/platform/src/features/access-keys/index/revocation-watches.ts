// Notifies long-running requests when their key becomes invalid: one entry and at most one timer per key in use.

import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { type AccessKeyRecord, samePermissions } from "../record/access-key-record.ts";

export type RevocationWatchesDeps = {
  readonly find: (id: string) => AccessKeyRecord | undefined;
  readonly isRefused: (record: AccessKeyRecord) => boolean;
  /** Milliseconds since the epoch; undefined: never. */
  readonly endOf: (record: AccessKeyRecord) => number | undefined;
  /** Differs when what the key's owner may do changes through the directory. */
  readonly ownerFingerprint: (record: AccessKeyRecord) => string;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
};

type Watch = {
  readonly id: string;
  readonly record: AccessKeyRecord;
  readonly fingerprint: string;
  readonly listeners: Set<() => void>;
  timer: Disposable | undefined;
};

/** A clock that is set forwards ends keys before their timers know: they look again after this at the latest. */
const MAX_DELAY_MS = 10_000;

export class RevocationWatches implements Disposable {
  readonly #deps: RevocationWatchesDeps;
  readonly #watches = new Map<string, Watch>();

  constructor(deps: RevocationWatchesDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#watches.size;
  }

  /** A key that is not good calls back soon, but never within this call. */
  add(id: string, listener: () => void): Disposable {
    const record = this.#deps.find(id);
    if (record === undefined || this.#deps.isRefused(record)) return callSoon(listener);
    const watch = this.#watches.get(id) ?? this.#start(record);
    // Distinguishes two registrations of the same function.
    const own = () => listener();
    watch.listeners.add(own);
    return {
      [Symbol.dispose]: () => {
        watch.listeners.delete(own);
        if (watch.listeners.size === 0) this.#end(watch);
      },
    };
  }

  /** Looks at a key again after it, its ancestors or its owner changed. */
  recheck(id: string): void {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    const record = this.#deps.find(id);
    if (record === undefined || this.#deps.isRefused(record) || this.#isAnother(watch, record)) this.#fire(watch);
    else this.#setTimer(watch, record);
  }

  recheckAll(): void {
    for (const id of [...this.#watches.keys()]) this.recheck(id);
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watches.values()) watch.timer?.[Symbol.dispose]();
    this.#watches.clear();
  }

  #start(record: AccessKeyRecord): Watch {
    const fingerprint = this.#deps.ownerFingerprint(record);
    const watch: Watch = { id: record.id, record, fingerprint, listeners: new Set(), timer: undefined };
    this.#watches.set(record.id, watch);
    this.#setTimer(watch, record);
    return watch;
  }

  #isAnother({ record: before, fingerprint }: Watch, now: AccessKeyRecord): boolean {
    if (before !== now && !samePermissions(before, now)) return true;
    return this.#deps.ownerFingerprint(now) !== fingerprint;
  }

  #setTimer(watch: Watch, record: AccessKeyRecord): void {
    watch.timer?.[Symbol.dispose]();
    watch.timer = undefined;
    const end = this.#deps.endOf(record);
    if (end === undefined) return;
    const delay = Math.min(Math.max(end - this.#deps.clock.now(), 0), MAX_DELAY_MS);
    watch.timer = this.#deps.scheduler.schedule(delay, () => this.recheck(watch.id));
  }

  #end(watch: Watch): void {
    watch.timer?.[Symbol.dispose]();
    watch.timer = undefined;
    if (this.#watches.get(watch.id) === watch) this.#watches.delete(watch.id);
  }

  #fire(watch: Watch): void {
    this.#end(watch);
    for (const listener of watch.listeners) listener();
  }
}

function callSoon(listener: () => void): Disposable {
  let cancelled = false;
  queueMicrotask(() => {
    if (!cancelled) listener();
  });
  return {
    [Symbol.dispose]() {
      cancelled = true;
    },
  };
}
