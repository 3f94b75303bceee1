// Writes the last use of keys or certificates into the store: each once a minute or when it is asked for, in batches, without delaying requests. The
// first use of one is written within a second: readers wait for it to see whether a new key works. Uses of keys whose TTL counts from them, and is
// shorter than some minutes, are written sooner: other servers refuse such a key as expired until they see them.

import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { isConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import { effectiveTTL, type KeyTTL } from "../validity/key-ttl.ts";
import { encodeActivity, type LastActivity, MAX_NETWORKS, readActivity, type UsedKey } from "./last-activity.ts";
import { createPeriodicWriter, INTERVAL_MS, inBatches, type PeriodicWriter } from "./periodic-writer.ts";

type LastActivityWriterDeps = {
  readonly records: ViewPrefix;
  readonly storage: Storage;
  /** Those that there are: the uses of others are not written. */
  readonly keys: { byUid(uid: string): (UsedKey & Partial<KeyTTL>) | undefined };
  /** The setting accessKeys.maxTTLSeconds. Default: no maximum. */
  readonly maxTTLSeconds?: number;
  readonly activity: LastActivity;
  readonly clock: Pick<Clock, "now">;
  readonly scheduler: Scheduler;
  /** A key was used from a network that is none of the last ones it was used from. Default: nothing. */
  readonly onNewNetwork?: (key: UsedKey, network: string) => void;
  /** Uses that could not be written are written with the next batch. */
  readonly onError: (error: unknown) => void;
};

const ATTEMPTS = 3;
const FIRST_MS = 1_000;
/** First uses that go into one commit each second. Further ones are written with the others. */
const MAX_FIRST = 64;
/** Others see the last use of a key before this part of its TTL is over. */
const PART_OF_TTL = 4;
/** Keys that are written sooner. Uses of further ones are written with the others. */
const MAX_SHORT = 1_024;

export function createLastActivityWriter(deps: LastActivityWriterDeps): PeriodicWriter {
  const { activity, clock, scheduler, onError, keys, maxTTLSeconds = 0 } = deps;
  const periodic = createPeriodicWriter(scheduler, async (uids) => {
    const gone = new Map(activity.takeForgotten().map((key) => [key.uid, key]));
    await inBatches([...gone.keys()], {
      write: (uid) => remove(gone.get(uid), deps),
      putBack: (uid) => activity.forget(gone.get(uid) ?? { name: "", uid }),
      onError,
    });
    const used = activity.takeUnwritten(uids);
    await inBatches(used, {
      write: (uid) => write(uid, deps),
      putBack: (uid) => activity.returnUnwritten(uid),
      onError,
    });
    // The TTL may have been changed since the first use.
    for (const uid of used) if (!secondsLeft.has(uid)) follow(uid);
  });
  /** Of keys with a short TTL: seconds until their uses are written. */
  const secondsLeft = new Map<string, number>();
  let shortTimer: Disposable | undefined;
  let disposed = false;
  function follow(uid: string): void {
    const key = keys.byUid(uid);
    const every = secondsBetweenWrites(key, maxTTLSeconds);
    if (key === undefined || every === undefined || secondsLeft.size >= MAX_SHORT || disposed) return;
    // One that expired leaves its place to others, also where it is not deleted yet.
    const lastUse = activity.lastUse(key)?.at ?? 0;
    if (lastUse + (every + 1) * PART_OF_TTL * 1_000 < clock.now()) return;
    secondsLeft.set(uid, every);
    shortTimer ??= scheduler.schedule(FIRST_MS, () => void writeShort());
  }
  async function writeShort(): Promise<void> {
    const due: string[] = [];
    for (const [uid, left] of secondsLeft) {
      if (left > 1) secondsLeft.set(uid, left - 1);
      else if (due.length < MAX_FIRST) due.push(uid);
    }
    for (const uid of due) secondsLeft.delete(uid);
    if (due.length > 0) await periodic.flush(due);
    shortTimer = undefined;
    // Behind the others, until they are gone.
    for (const uid of due) follow(uid);
    if (secondsLeft.size > 0 && !disposed) shortTimer ??= scheduler.schedule(FIRST_MS, () => void writeShort());
  }
  let first = new Set<string>();
  let timer: Disposable | undefined;
  const writeFirst = async (): Promise<void> => {
    timer = undefined;
    const taken = [...first];
    first = new Set();
    // They are still unwritten, and come again.
    await inBatches(taken, { write: (uid) => create(uid, deps), putBack: () => undefined, onError });
  };
  const listening = activity.onFirstUse((uid) => {
    follow(uid);
    if (first.size < MAX_FIRST) first.add(uid);
    timer ??= scheduler.schedule(FIRST_MS, () => void writeFirst());
  });
  return {
    flush: periodic.flush,
    async [Symbol.asyncDispose]() {
      listening[Symbol.dispose]();
      timer?.[Symbol.dispose]();
      disposed = true;
      shortTimer?.[Symbol.dispose]();
      await periodic[Symbol.asyncDispose]();
    },
  };
}

/** Undefined: those of all keys are often enough. */
function secondsBetweenWrites(key: Partial<KeyTTL> | undefined, maxTTLSeconds: number): number | undefined {
  if (key?.countsFromActivity !== true || key.ttl === undefined) return undefined;
  const seconds = effectiveTTL(key.ttl, maxTTLSeconds) / PART_OF_TTL;
  return seconds === 0 || seconds * 1_000 >= INTERVAL_MS ? undefined : Math.max(1, Math.floor(seconds));
}

/** A first use, where no server has written one. Networks are written after the first minute: a key is at home where it was used in it. */
async function create(uid: string, { records, storage, keys, activity }: LastActivityWriterDeps): Promise<void> {
  const key = keys.byUid(uid);
  const at = activity.of(uid);
  if (key === undefined || at === undefined || records.view.get(records.prefix + key.name) !== undefined) return;
  const first = encodeActivity(key, { at, from: activity.fromOf(uid), networks: [] });
  await unlessConflict(storage.create(records.prefix + key.name, first));
}

async function write(uid: string, deps: LastActivityWriterDeps): Promise<void> {
  const { records, storage, keys, activity, onNewNetwork } = deps;
  const networks = activity.takeNetworks(uid);
  for (let attempt = 1; ; attempt++) {
    const key = keys.byUid(uid);
    const at = activity.of(uid);
    if (key === undefined || at === undefined) return;
    const place = records.prefix + key.name;
    const current = records.view.get(place);
    const known = current === undefined ? undefined : readActivity(current);
    const before = known?.uid === uid ? known : undefined;
    const added = networks.filter((network) => before?.networks.includes(network) !== true);
    try {
      // Another server may have seen a later use. Clients are shown seconds.
      const isLate = before !== undefined && seconds(before.at) >= seconds(at);
      if (isLate && added.length === 0) return;
      const next = {
        at: isLate ? before.at : at,
        from: isLate ? before.from : activity.fromOf(uid),
        networks: [...(before?.networks ?? []), ...added].slice(-MAX_NETWORKS),
      };
      if (current === undefined) await storage.create(place, encodeActivity(key, next));
      else await storage.update(place, encodeActivity(key, next), current.revision);
      // One that was never used before is at home wherever it is used first, and one with so many networks everywhere.
      const isSettled = before !== undefined && before.networks.length > 0 && before.networks.length < MAX_NETWORKS;
      if (isSettled) for (const network of added) onNewNetwork?.(key, network);
      return;
    } catch (error) {
      // Another server was faster.
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

const seconds = (at: number): number => Math.floor(at / 1000);

async function remove(gone: UsedKey | undefined, { records, storage }: LastActivityWriterDeps): Promise<void> {
  const entry = gone === undefined ? undefined : await storage.get(records.prefix + gone.name);
  // Another key may have taken the name, and been used.
  if (entry === undefined || readActivity(CachedObject.fromEntry(entry)).uid !== gone?.uid) return;
  // Another server may have removed it, or a new key of that name was used.
  await unlessConflict(storage.delete(entry.key, entry.revision));
}
