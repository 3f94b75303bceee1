// Converts etcd's events and entries into those of the storage port.

import type { Revision, StorageEvent, StoredEntry } from "@postern/apiserver/storage/storage";
import type { EtcdKeys } from "../etcd-keys.ts";
import type { EtcdEvent, KeyValue } from "../protocol/etcd-messages.ts";

const NO_BYTES = new Uint8Array();

export function toEntry(key: string, { value = NO_BYTES, mod_revision = 0 }: KeyValue): StoredEntry {
  return { key, value, revision: mod_revision };
}

/** The entries of a range that only contains keys of the store. */
export function toEntries(keys: EtcdKeys, kvs: readonly KeyValue[]): StoredEntry[] {
  return kvs.map((kv) => toEntry(keys.decode(kv.key ?? NO_BYTES) ?? "", kv));
}

/** The events of one watch response. */
export type EtcdCommits = {
  /** Without events of keys that are not the store's. */
  readonly events: readonly StorageEvent[];
  /** The newest revision of all events; undefined without events. */
  readonly revision: Revision | undefined;
  /** A compaction removed the history before an event, so that the event cannot be delivered. */
  readonly incomplete: boolean;
};

/** Leaves out events at or before `covered`. */
export function toCommits(keys: EtcdKeys, events: readonly EtcdEvent[], covered: Revision): EtcdCommits {
  const converted: StorageEvent[] = [];
  let incomplete = false;
  for (const { type, kv = {}, prev_kv } of events) {
    const revision = kv.mod_revision ?? 0;
    const key = revision > covered ? keys.decode(kv.key ?? NO_BYTES) : undefined;
    if (key === undefined) continue;
    const previous = prev_kv && toEntry(key, prev_kv);
    if (type === "DELETE") {
      if (previous === undefined) incomplete = true;
      else converted.push({ type: "delete", key, revision, previous });
    } else {
      if (previous === undefined && kv.create_revision !== revision) incomplete = true;
      converted.push({ type: "put", entry: toEntry(key, kv), previous });
    }
  }
  return { events: converted, revision: events.at(-1)?.kv?.mod_revision, incomplete };
}
