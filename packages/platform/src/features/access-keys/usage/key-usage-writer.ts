// Stores the usage of access keys: once a minute or when it is asked for, only changes, in records that clients never see.

import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import { isConflict } from "@postern/apiserver/storage/unless-conflict";
import type { AccessKeyIndex } from "../index/access-key-index.ts";
import { createPeriodicWriter, inBatches, type PeriodicWriter } from "../last-use/periodic-writer.ts";
import type { KeyUsage } from "./key-usage.ts";
import { coversUsage, decodeUsage, encodeUsage, mergeUsage } from "./key-usage-record.ts";

export type KeyUsageWriterDeps = {
  readonly records: ViewPrefix;
  readonly storage: Storage;
  readonly keys: Pick<AccessKeyIndex, "byUid">;
  readonly usage: KeyUsage;
  readonly scheduler: Scheduler;
  /** Usage that could not be written is written with the next batch. */
  readonly onError: (error: unknown) => void;
};

const ATTEMPTS = 3;

export function createKeyUsageWriter(deps: KeyUsageWriterDeps): PeriodicWriter {
  const { usage, scheduler, onError } = deps;
  return createPeriodicWriter(scheduler, async (uids) => {
    await inBatches(usage.takeForgotten(), {
      write: (uid) => removeUsage(uid, deps),
      putBack: (uid) => usage.forget(uid),
      onError,
    });
    await inBatches(usage.takeUnwritten(uids), {
      write: (uid) => writeUsage(uid, deps),
      putBack: (uid) => usage.returnUnwritten(uid),
      onError,
    });
  });
}

async function writeUsage(uid: string, { records, storage, keys, usage }: KeyUsageWriterDeps): Promise<void> {
  const place = records.prefix + uid;
  let current = records.view.get(place);
  for (let attempt = 1; ; attempt++) {
    const news = usage.noted(uid);
    if (news === undefined || keys.byUid(uid) === undefined) return;
    try {
      if (current === undefined) {
        await storage.create(place, encodeUsage(uid, news));
      } else {
        const known = decodeUsage(current);
        if (coversUsage(known, news)) return;
        await storage.update(place, encodeUsage(uid, mergeUsage(known, news)), current.revision);
      }
      return;
    } catch (error) {
      // Another server was faster.
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
      const entry = error.current ?? (await storage.get(place));
      current = entry === undefined ? undefined : CachedObject.fromEntry(entry);
    }
  }
}

async function removeUsage(uid: string, { records, storage, usage }: KeyUsageWriterDeps): Promise<void> {
  const entry = await storage.get(records.prefix + uid);
  if (entry === undefined) return;
  try {
    await storage.delete(entry.key, entry.revision);
  } catch (error) {
    if (!(error instanceof RevisionConflictError)) throw error;
    // Another server has removed it; or has written it, where the key's end is not known yet.
    if (error.current !== undefined) usage.forget(uid);
  }
}
