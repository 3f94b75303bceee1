// The last use of keys: exact in memory for this server, and at most a minute behind in the store for all servers. It is stored in batches beside the
// keys, by name, so that a use does not change the key.

import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/system-runtime";
import type { Storage } from "@postern/apiserver/storage/storage";
import { KeyExistsError, RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { AccessKeyIndex } from "./access-key-index.ts";

/** The fields of a key's record that matter for its use. */
export type UsedKey = { readonly name: string; readonly uid: string };

export type LastActivity = {
  /** `uid` of the key's record; `at` in milliseconds since the epoch. Costs one map entry. */
  record(uid: string, at: number): void;
  /** What this server saw; undefined while the key has not been used since it started. */
  of(uid: string): number | undefined;
  /** That in which it was used last; meaningful where `of` is. */
  epochOf(uid: string): ClockEpoch;
  /** What is written of the key's use, by whichever server; undefined where nothing is. Costs a look-up where there is nothing. */
  written(key: UsedKey): number | undefined;
  /** As `written`, of the key that is shown as `object`, whose name ends its key. */
  writtenOf(object: CachedObject): number | undefined;
  /** The names of all keys of whose use something is written; undefined where they are more than `most`. */
  usedNames(most: number): readonly string[] | undefined;
  /** uids used since they were last taken. */
  takeUnwritten(): readonly string[];
  /** Puts one back that could not be written. */
  returnUnwritten(uid: string): void;
  /** The key is gone. */
  forget(key: UsedKey): void;
  /** Keys that have gone since they were last taken. */
  takeForgotten(): readonly UsedKey[];
};

type Written = { readonly uid: string; readonly at: number };

const readUid = createMemberReader({ metadata: { uid: true } });

/** `records` of what is written, by the names of keys; absent: nothing is. */
export function createLastActivity(epochs: ClockEpochs, records?: ViewPrefix): LastActivity {
  const times = new Map<string, number>();
  /** Only of those that are not in the first one: nearly no process sees another. */
  const epochOfUse = new Map<string, ClockEpoch>();
  const epochOf = (uid: string): ClockEpoch => epochOfUse.get(uid) ?? 0;
  let unwritten = new Set<string>();
  let forgotten = new Map<string, UsedKey>();
  /** By the record: of a key that is in use it is read with every look at the key. */
  const known = new WeakMap<CachedObject, Written>();

  const writtenUnder = (name: string): Written | undefined => {
    const record = records?.view.get(records.prefix + name);
    if (record === undefined) return undefined;
    const read = known.get(record) ?? readActivity(record);
    known.set(record, read);
    return read;
  };

  return {
    record(uid, at) {
      const before = times.get(uid);
      const epoch = epochs.current();
      // After the clock was set back a later use has an earlier time.
      if (before !== undefined && before >= at && epoch === epochOf(uid)) return;
      times.set(uid, at);
      if (epoch !== 0) epochOfUse.set(uid, epoch);
      unwritten.add(uid);
    },
    of: (uid) => times.get(uid),
    epochOf,
    written({ name, uid }) {
      const read = writtenUnder(name);
      return read?.uid === uid ? read.at : undefined;
    },
    writtenOf(object) {
      const read = writtenUnder(object.key.slice(object.key.lastIndexOf("/") + 1));
      if (read === undefined) return undefined;
      // The name may have been another key's.
      const { metadata } = object.read(readUid) as { readonly metadata?: { readonly uid?: string } };
      return read.uid === metadata?.uid ? read.at : undefined;
    },
    usedNames(most) {
      if (records === undefined) return [];
      const { view, prefix } = records;
      return view.size > most ? undefined : view.list(prefix).map(({ key }) => key.slice(prefix.length));
    },
    takeUnwritten() {
      const taken = [...unwritten];
      unwritten = new Set();
      return taken;
    },
    returnUnwritten(uid) {
      if (times.has(uid)) unwritten.add(uid);
    },
    forget(key) {
      const { uid } = key;
      times.delete(uid);
      epochOfUse.delete(uid);
      unwritten.delete(uid);
      if (records?.view.get(records.prefix + key.name) !== undefined) forgotten.set(key.name, key);
    },
    takeForgotten() {
      const taken = [...forgotten.values()];
      forgotten = new Map();
      return taken;
    },
  };
}

export const encodeActivity = ({ name, uid }: UsedKey, at: number): Uint8Array =>
  encodeStoredValue({ apiVersion: "v1", kind: "AccessKeyActivity", metadata: { name, uid }, lastActivity: at });

export function readActivity(record: CachedObject): Written {
  const { metadata, lastActivity } = record.decode();
  return { uid: metadata.uid ?? "", at: typeof lastActivity === "number" ? lastActivity : 0 };
}

// Writes the last use of keys into the store: each at most once a minute, in batches, without delaying requests.

type LastActivityWriterDeps = {
  readonly records: ViewPrefix;
  readonly storage: Storage;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "byName">;
  readonly activity: LastActivity;
  readonly scheduler: Scheduler;
  /** What could not be written is written with the next batch. */
  readonly onError: (error: unknown) => void;
};

const ATTEMPTS = 3;

export function createLastActivityWriter(deps: LastActivityWriterDeps): PeriodicWriter {
  const { activity, scheduler, onError } = deps;
  return createPeriodicWriter(scheduler, async () => {
    const gone = new Map(activity.takeForgotten().map((key) => [key.uid, key]));
    await inBatches([...gone.keys()], {
      write: (uid) => remove(gone.get(uid), deps),
      putBack: (uid) => activity.forget(gone.get(uid) ?? { name: "", uid }),
      onError,
    });
    await inBatches(activity.takeUnwritten(), {
      write: (uid) => write(uid, deps),
      putBack: (uid) => activity.returnUnwritten(uid),
      onError,
    });
  });
}

async function write(uid: string, { records, storage, keys, activity }: LastActivityWriterDeps): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const key = keys.byUid(uid);
    const at = activity.of(uid);
    if (key === undefined || at === undefined) return;
    const place = records.prefix + key.name;
    const current = records.view.get(place);
    try {
      if (current === undefined) {
        await storage.create(place, encodeActivity(key, at));
        return;
      }
      const known = readActivity(current);
      // Another server may have seen a later use. Clients are shown seconds.
      if (known.uid === uid && seconds(known.at) >= seconds(at)) return;
      await storage.update(place, encodeActivity(key, at), current.revision);
      return;
    } catch (error) {
      // Another server was faster.
      const isRace = error instanceof KeyExistsError || error instanceof RevisionConflictError;
      if (!isRace || attempt === ATTEMPTS) throw error;
    }
  }
}

const seconds = (at: number): number => Math.floor(at / 1000);

async function remove(gone: UsedKey | undefined, { records, storage }: LastActivityWriterDeps): Promise<void> {
  const entry = gone === undefined ? undefined : await storage.get(records.prefix + gone.name);
  // Another key may have taken the name, and been used.
  if (entry === undefined || readActivity(CachedObject.fromEntry(entry)).uid !== gone?.uid) return;
  try {
    await storage.delete(entry.key, entry.revision);
  } catch (error) {
    // Another server has removed it, or a new key of that name was used.
    if (!(error instanceof RevisionConflictError)) throw error;
  }
}

// Writes collected data into the store: once a minute, in batches, without delaying requests.

export type PeriodicWriter = AsyncDisposable & {
  /** Writes what is not written yet. */
  flush(): Promise<void>;
};

const INTERVAL_MS = 60_000;
/** So many writes at once go into one commit of the store. */
const BATCH = 64;

/** Writes once a minute until it is disposed, and once more then. `writeAll` never rejects, and never runs twice at once. */
export function createPeriodicWriter(scheduler: Scheduler, writeAll: () => Promise<void>): PeriodicWriter {
  let running = Promise.resolve();
  let timer: Disposable | undefined;
  let disposed = false;

  const flush = (): Promise<void> => {
    const written = running.then(writeAll);
    // The next one is written all the same.
    running = written.catch(() => undefined);
    return written;
  };
  const schedule = (): void => {
    if (disposed) return;
    timer = scheduler.schedule(INTERVAL_MS, () => flush().finally(schedule));
  };
  schedule();

  return {
    flush,
    async [Symbol.asyncDispose]() {
      disposed = true;
      timer?.[Symbol.dispose]();
      await flush();
    },
  };
}

type EachWrite = {
  write(uid: string): Promise<void>;
  /** Called for one that could not be written: it is to come again with the next batch. */
  putBack(uid: string): void;
  onError(error: unknown): void;
};

/** Never rejects. */
export async function inBatches(uids: readonly string[], { write, putBack, onError }: EachWrite): Promise<void> {
  const attempt = async (uid: string): Promise<void> => {
    try {
      await write(uid);
    } catch (error) {
      putBack(uid);
      onError(error);
    }
  };
  for (let at = 0; at < uids.length; at += BATCH) await Promise.all(uids.slice(at, at + BATCH).map(attempt));
}
