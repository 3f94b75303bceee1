// Re-encrypts the store under the primary key, and removes unused keys from the ring. Runs on the leader. Progress follows from the values
// themselves, so that a crash only repeats the scan.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { AccessKeys } from "../../features/access-keys/feature.ts";
import { readSealedAccessKey } from "../../features/access-keys/record/sealed-access-key.ts";
import { renewSecrets } from "../../features/access-keys/record/secret-envelope.ts";
import type { StoredKeyRing } from "../../foundation/encryption/stored-key-ring.ts";
import { findDigestKeys } from "./digest-keys.ts";
import { countSealed, type PassProgress, reencryptStore } from "./reencrypt-store.ts";
import { type ReencryptionState, readReencryptionState, writeReencryptionState } from "./reencryption-state.ts";

export type ReencryptionDeps = {
  /** As it is on disk. */
  readonly storage: Storage;
  readonly ring: StoredKeyRing;
  readonly runtime: Runtime;
  readonly keys: Pick<AccessKeys, "index" | "records" | "secrets" | "sealedRecords">;
  /**
   * How long after a rotation other servers may still write under the previous key, in milliseconds. No key is retired before. 0 if no other server
   * has the store open.
   */
  readonly settleMs: number;
  readonly onError: (error: unknown) => void;
};

/** Another look, for as long as there are keys to retire, at digests that were made anew meanwhile. */
const LOOK_AGAIN_MS = 10_000;
const RETRY_MS = 5_000;
const PAUSE_MS = 2;
const STATE_INTERVAL_MS = 1_000;
const RECORDS_PER_STEP = 200;

/** Works until it is disposed, whenever the ring has changed. */
export const startReencryption = (deps: ReencryptionDeps): Disposable => new Reencryption(deps);

class Reencryption implements Disposable {
  readonly #deps: ReencryptionDeps;
  readonly #changes: Disposable;
  readonly #stopping = new AbortController();
  #timer: Disposable | undefined;
  #isRunning = false;
  /** A look was planned while one is running. */
  #isDue = false;
  /** The key that a pass has found everything under, after all servers had taken it up. */
  #through: string | undefined;
  /** The present primary key, and the elapsed time at which this server learned of it; a change of the clock does not affect it. */
  #known = { primary: "", since: 0 };

  constructor(deps: ReencryptionDeps) {
    this.#deps = deps;
    this.#changes = deps.ring.onChange(() => this.#planAfter(0));
    this.#planAfter(0);
  }

  [Symbol.dispose](): void {
    this.#stopping.abort();
    this.#changes[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
  }

  #planAfter(delayMs: number): void {
    this.#timer?.[Symbol.dispose]();
    const { scheduler } = this.#deps.runtime;
    this.#timer = this.#stopping.signal.aborted ? undefined : scheduler.schedule(delayMs, () => void this.#run());
  }

  async #run(): Promise<void> {
    if (this.#isRunning) {
      this.#isDue = true;
      return;
    }
    this.#isRunning = true;
    try {
      const delayMs = await this.#step();
      if (delayMs !== undefined) this.#planAfter(delayMs);
    } catch (error) {
      if (!this.#stopping.signal.aborted) {
        this.#deps.onError(error);
        this.#planAfter(RETRY_MS);
      }
    } finally {
      this.#isRunning = false;
    }
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#planAfter(0);
  }

  /** Resolves with how long to wait before the next step; undefined where nothing is left to do until the ring changes. */
  async #step(): Promise<number | undefined> {
    const { ring, runtime } = this.#deps;
    const primary = ring.keys[0].id;
    if (this.#known.primary !== primary) this.#known = { primary, since: runtime.clock.elapsed() };
    const isThrough = this.#through === primary;
    const next = isThrough ? "retire" : await reencrypt(this.#deps, this.#known.since, this.#stopping.signal);
    if (next !== "retire") return next;
    this.#through = primary;
    return (await retireUnused(this.#deps)) ? undefined : LOOK_AGAIN_MS;
  }
}

/** Takes keys off the ring that no digest names. Resolves with true when only the primary one is left. */
async function retireUnused({ ring, keys, runtime }: ReencryptionDeps): Promise<boolean> {
  const holders = findDigestKeys(ring, keys.index.all(), runtime.clock.now());
  await ring.retire(ring.keys.slice(1).flatMap(({ id }) => (holders.get(id)?.count === 0 ? [id] : [])));
  return ring.keys.length === 1;
}

/**
 * Resolves with how long to wait before the next pass, or "retire" where nothing is under another key any more; undefined when there is
 * one key on the ring, and everything is under it.
 */
async function reencrypt(
  deps: ReencryptionDeps,
  knownSince: number,
  signal: AbortSignal,
): Promise<number | "retire" | undefined> {
  const { storage, ring, runtime, settleMs } = deps;
  const { records } = deps.keys;
  const { clock, random, scheduler } = runtime;
  const [startedAt, startedAfter] = [clock.now(), clock.elapsed()];
  const primary = ring.keys[0].id;
  if (ring.keys.length === 1 && (await isThrough(storage, primary))) return undefined;
  const total = (await countSealed(storage, signal)) + records.view.list(records.prefix).length;
  const pause = () =>
    new Promise<void>((resolve) => {
      scheduler.schedule(PAUSE_MS, resolve);
    });

  let done: PassProgress = { seen: 0, rewritten: 0, left: 0, unreadable: 0 };
  let writtenAt = Number.NEGATIVE_INFINITY;
  const write = (end: Pick<ReencryptionState, "finishedAt"> = {}): Promise<void> =>
    writeReencryptionState(storage, { primary, startedAt, total, ...done, ...end });
  const writeNowAndThen = async (): Promise<void> => {
    const now = clock.now();
    if (now - writtenAt < STATE_INTERVAL_MS) return;
    writtenAt = now;
    await write();
  };
  await writeNowAndThen();
  done = await reencryptStore({
    storage,
    ring,
    random,
    signal,
    pause: async () => {
      await writeNowAndThen();
      await pause();
    },
    onStep: (progress) => {
      done = progress;
    },
  });
  for (const step of stepsOf(records.view.list(records.prefix))) {
    signal.throwIfAborted();
    const rewritten = await renewRecords(step, deps.keys);
    done = { ...done, seen: done.seen + step.length, rewritten: done.rewritten + rewritten };
    await writeNowAndThen();
    await pause();
  }
  await write({ finishedAt: clock.now() });
  if (ring.keys[0].id !== primary || done.left > 0) return 0;
  if (ring.keys.length === 1) return undefined;

  // A key is removed after a pass that found nothing under it and began when no server wrote under it any more.
  const unsettledMs = knownSince + settleMs - startedAfter;
  if (unsettledMs > 0) return Math.max(unsettledMs, LOOK_AGAIN_MS);
  return done.rewritten > 0 ? 0 : "retire";
}

/** Whether a pass under the key is complete: from then on everything is written under it. */
async function isThrough(storage: Storage, primary: string): Promise<boolean> {
  const state = await readReencryptionState(storage);
  return state?.["primary"] === primary && state["finishedAt"] !== undefined && state["left"] === 0;
}

/** Resolves with how many records had something under another key. */
async function renewRecords(
  objects: readonly CachedObject[],
  { secrets, sealedRecords }: ReencryptionDeps["keys"],
): Promise<number> {
  const renewals = objects.map(async (object) => {
    const stored = readSealedAccessKey(object.decodeSealed());
    if (Object.values(stored.secrets).every((envelope) => secrets.isUnderPrimary(envelope))) return 0;
    const { name = "", uid = "" } = object.decode().metadata;
    let isRenewed = false;
    await sealedRecords.write({ name, uid }, (sealed) => {
      const renewed = renewSecrets(secrets, sealed, uid);
      isRenewed = renewed !== undefined;
      return renewed && { ...sealed, secrets: renewed };
    });
    return isRenewed ? 1 : 0;
  });
  return (await Promise.all(renewals)).reduce((sum: number, one) => sum + one, 0);
}

function* stepsOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += RECORDS_PER_STEP) yield items.slice(from, from + RECORDS_PER_STEP);
}
