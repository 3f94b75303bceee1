// Writes the last use of keys into the store: each at most once a minute, in batches, without delaying requests.

import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { KeyExistsError, RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { AccessKeyIndex } from "./access-key-index.ts";
import { encodeActivity, type LastActivity, readActivity, type UsedKey } from "./last-activity.ts";
import { createPeriodicWriter, inBatches, type PeriodicWriter } from "./periodic-writer.ts";

type LastActivityWriterDeps = {
  readonly records: ViewPrefix;
  readonly storage: Storage;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "byName">;
  readonly activity: LastActivity;
  readonly scheduler: Scheduler;
  /** Uses that could not be written are written with the next batch. */
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
