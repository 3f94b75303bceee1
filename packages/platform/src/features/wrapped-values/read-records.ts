// The records of wrapped values that were read, by account: where an account is full, the oldest of them make room.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { decodeWrapped } from "./wrapped-record.ts";

export type ReadRecords = Disposable & {
  /** The first that were read, as memory shows them. */
  oldestOf(account: string, max: number): readonly CachedObject[];
};

export function followReadRecords(records: ViewPrefix, scheduler: Scheduler): ReadRecords {
  const read = new Map<string, Map<string, CachedObject>>();
  const remove = (record: CachedObject): void => {
    const { account } = decodeWrapped(record);
    const known = read.get(account);
    known?.delete(record.key);
    if (known?.size === 0) read.delete(account);
  };
  const add = (record: CachedObject): void => {
    const { account, read: reading } = decodeWrapped(record);
    if (reading === undefined) return;
    const known = read.get(account) ?? new Map<string, CachedObject>();
    read.set(account, known.set(record.key, record));
  };
  const following = followView(records, scheduler, {
    replace(all) {
      read.clear();
      const at = (record: CachedObject): number => decodeWrapped(record).read?.at ?? 0;
      for (const record of [...all].sort((one, other) => at(one) - at(other))) add(record);
    },
    put: add,
    delete: remove,
  });
  return {
    oldestOf: (account, max) => [...(read.get(account)?.values() ?? [])].slice(0, max),
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}
