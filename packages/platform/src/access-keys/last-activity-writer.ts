// Writes when keys were used last into their records: each at most once a minute, many at a time, in nobody's way.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { CacheView } from "@postern/apiserver/cache/watch-cache";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { AccessKeyIndex } from "./access-key-index.ts";
import { digestWithoutActivity, type LastActivity } from "./last-activity.ts";
import { readSealedAccessKey, writeSealedAccessKey } from "./sealed-access-key.ts";

export type LastActivityWriterOptions = {
  readonly view: CacheView;
  readonly prefix: string;
  /** Written to directly: what follows from a use is no update that admission, managers of fields or events have a part in. */
  readonly storage: Storage;
  readonly keys: Pick<AccessKeyIndex, "byUid">;
  readonly activity: LastActivity;
  readonly scheduler: Scheduler;
  /** A use that could not be written is written with the next batch. */
  readonly onError: (error: unknown) => void;
};

const ATTEMPTS = 3;

export function createLastActivityWriter(options: LastActivityWriterOptions): PeriodicWriter {
  const { activity, scheduler, onError } = options;
  return createPeriodicWriter(scheduler, () =>
    inBatches(activity.takeUnwritten(), {
      write: (uid) => writeActivity(uid, options),
      putBack: (uid) => activity.returnUnwritten(uid),
      onError,
    }),
  );
}

async function writeActivity(uid: string, options: LastActivityWriterOptions): Promise<void> {
  const { view, prefix, storage, keys } = options;
  const record = keys.byUid(uid);
  let current = record === undefined ? undefined : view.get(prefix + record.name);
  for (let attempt = 1; current !== undefined; attempt++) {
    const value = withActivity(current, uid, options);
    if (value === undefined) return;
    try {
      await storage.update(current.key, value, current.revision);
      return;
    } catch (error) {
      if (!(error instanceof RevisionConflictError) || attempt === ATTEMPTS) throw error;
      current = error.current === undefined ? undefined : CachedObject.fromEntry(error.current);
    }
  }
}

/** The stored value with the time of the last use; undefined where there is nothing to write. */
function withActivity(
  current: CachedObject,
  uid: string,
  { activity, keys }: LastActivityWriterOptions,
): Uint8Array | undefined {
  const object = current.decode();
  const at = activity.of(uid);
  // Another key has taken the name meanwhile.
  if (object.metadata.uid !== uid || at === undefined) return undefined;
  const status = isJsonObject(object["status"]) ? object["status"] : {};
  const lastActivity = formatTimestamp(at);
  const known = status["lastActivity"];
  // Another replica may have seen a later use; both are of one form, which sorts by time.
  if (typeof known === "string" && known >= lastActivity) return undefined;
  const end = keys.byUid(uid)?.expiresAt;
  const next = {
    ...object,
    status: {
      ...status,
      lastActivity,
      ...(end === undefined ? {} : { expirationTimestamp: formatTimestamp(end) }),
    },
  };
  return encodeStoredValue(next, sealedOf(current, object));
}

/** Remembers since which revision a client's copy is as good as the newest. */
function sealedOf(current: CachedObject, object: KubeObject) {
  const sealed = readSealedAccessKey(current.decodeSealed());
  const digest = digestWithoutActivity(object);
  const unchanged = sealed.unchanged?.digest === digest ? sealed.unchanged : { since: current.revision, digest };
  return writeSealedAccessKey({ ...sealed, unchanged });
}

// Writes what has gathered in memory into the store: once a minute, many at a time, in nobody's way.

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
    running = running.then(writeAll);
    return running;
  };
  const schedule = (): void => {
    if (disposed) return;
    timer = scheduler.schedule(INTERVAL_MS, () => void flush().then(schedule));
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
