// The last use of keys and certificates: exact in memory for this server, and at most a minute behind in the store for all servers, the first use a
// second, and the uses of a key whose TTL counts from them a quarter of that. It is stored in batches beside the objects, by name, so that a use does
// not change the object.

import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import { type CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import { sourceOf } from "@postern/apiserver/limits/rate-limiter";
import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";

/** The fields of a record that matter for its use. Of a certificate, both are its serial. */
export type UsedKey = { readonly name: string; readonly uid: string };

/** Where a request came from, as far as it says so. */
export type UsedFrom = { readonly address: string; readonly userAgent: string };

/** `at` in milliseconds since the epoch. */
export type LastUse = { readonly at: number; readonly from: UsedFrom | undefined };

/** A use that is written, and the last networks that the key was used from. */
export type WrittenActivity = LastUse & { readonly uid: string; readonly networks: readonly string[] };

export type LastActivity = {
  /** `uid` of the key's record; `at` in milliseconds since the epoch. Costs two map entries. */
  record(uid: string, at: number, from?: UsedFrom): void;
  /** The address of the last use that this server saw. */
  fromOf(uid: string): UsedFrom | undefined;
  /** Networks of the uses since they were last taken. */
  takeNetworks(uid: string): readonly string[];
  /** Last use that this server saw; undefined while the key has not been used since it started. */
  of(uid: string): number | undefined;
  /** The epoch of that use; meaningful only if `of` is defined. */
  epochOf(uid: string): ClockEpoch;
  /** Last use in the store, of any server; undefined without one. */
  written(key: UsedKey): number | undefined;
  /** The last use that is known: of this server exactly, of others as far as it is written. */
  lastUse(key: UsedKey): LastUse | undefined;
  /** As `written`, for the key whose object this is. The result is the same object until the next use is written. */
  writtenOf(object: CachedObject): WrittenActivity | undefined;
  /** Names of all keys with a use in the store; undefined if there are more than `most`. */
  usedNames(most: number): readonly string[] | undefined;
  /** uids used since they were last taken; `among` these alone. */
  takeUnwritten(among?: readonly string[]): readonly string[];
  /** Calls `listener` with each first use since this server started. */
  onFirstUse(listener: (uid: string) => void): Disposable;
  /** Puts one back that could not be written. */
  returnUnwritten(uid: string): void;
  /** The key is gone. */
  forget(key: UsedKey): void;
  /** Keys that have gone since they were last taken. */
  takeForgotten(): readonly UsedKey[];
};

export function usedFrom({ remoteAddress, headers }: Pick<ApiRequest, "remoteAddress" | "headers">): UsedFrom {
  const { "user-agent": userAgent } = headers;
  return { address: remoteAddress, userAgent: typeof userAgent === "string" ? userAgent : "" };
}

/** A copy, since a part of a text keeps all of it in memory. A client may have put a credential in there. */
function shortUserAgent(text: string): string {
  const safe = redactCredentials(text);
  return safe.length <= MAX_USER_AGENT ? safe : Buffer.from(safe.slice(0, MAX_USER_AGENT)).toString();
}

const readUid = createMemberReader({ metadata: { uid: true } });

/** Longer ones are cut. kubectl sends 60 characters. */
const MAX_USER_AGENT = 200;
/** Networks of one key: for a key that is used from more, no network is news. */
export const MAX_NETWORKS = 8;

/** `records`: the stored activity, by the names of keys; absent: nothing is stored. */
export function createLastActivity(epochs: ClockEpochs, records?: ViewPrefix): LastActivity {
  const times = new Map<string, number>();
  /** Only of those that are not in the first one: nearly no process sees another. */
  const epochOfUse = new Map<string, ClockEpoch>();
  const epochOf = (uid: string): ClockEpoch => epochOfUse.get(uid) ?? 0;
  let unwritten = new Set<string>();
  let forgotten = new Map<string, UsedKey>();
  /** By the record: of a key that is in use it is read with every look at the key. */
  const known = new WeakMap<CachedObject, WrittenActivity>();
  const origins = new Map<string, UsedFrom>();
  /** Only of keys that were used from several since they were last taken. */
  const networks = new Map<string, Set<string>>();
  const listeners = new Set<(uid: string) => void>();

  const recordFrom = (uid: string, from: UsedFrom): void => {
    const before = origins.get(uid);
    // Nearly always from the same address.
    if (before?.address === from.address && before.userAgent === from.userAgent) return;
    origins.set(uid, { address: from.address, userAgent: shortUserAgent(from.userAgent) });
    if (before === undefined || before.address === from.address) return;
    const seen = networks.get(uid) ?? new Set([sourceOf(before.address)]);
    if (seen.size < MAX_NETWORKS) networks.set(uid, seen.add(sourceOf(from.address)));
  };

  const writtenUnder = (name: string): WrittenActivity | undefined => {
    const record = records?.view.get(records.prefix + name);
    if (record === undefined) return undefined;
    const read = known.get(record) ?? readActivity(record);
    known.set(record, read);
    return read;
  };

  return {
    record(uid, at, from) {
      if (from !== undefined) recordFrom(uid, from);
      const before = times.get(uid);
      const epoch = epochs.current();
      // After the clock was set back a later use has an earlier time.
      if (before !== undefined && before >= at && epoch === epochOf(uid)) return;
      times.set(uid, at);
      if (epoch !== 0) epochOfUse.set(uid, epoch);
      unwritten.add(uid);
      if (before === undefined) for (const listener of listeners) listener(uid);
    },
    onFirstUse(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
    of: (uid) => times.get(uid),
    fromOf: (uid) => origins.get(uid),
    takeNetworks(uid) {
      const from = origins.get(uid);
      const taken = networks.get(uid) ?? (from === undefined ? [] : [sourceOf(from.address)]);
      networks.delete(uid);
      return [...taken];
    },
    epochOf,
    written({ name, uid }) {
      const read = writtenUnder(name);
      return read?.uid === uid ? read.at : undefined;
    },
    lastUse({ name, uid }) {
      const read = writtenUnder(name);
      const written = read?.uid === uid ? read : undefined;
      const own = times.get(uid);
      if (own === undefined || (written !== undefined && written.at > own)) return written;
      return { at: own, from: origins.get(uid) };
    },
    writtenOf(object) {
      const read = writtenUnder(object.key.slice(object.key.lastIndexOf("/") + 1));
      if (read === undefined) return undefined;
      // The name may have been another key's.
      const { metadata } = object.read(readUid) as { readonly metadata?: { readonly uid?: string } };
      return read.uid === metadata?.uid ? read : undefined;
    },
    usedNames(most) {
      if (records === undefined) return [];
      const { view, prefix } = records;
      return view.size > most ? undefined : view.list(prefix).map(({ key }) => key.slice(prefix.length));
    },
    takeUnwritten(among) {
      if (among !== undefined) return among.filter((uid) => unwritten.delete(uid));
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
      origins.delete(uid);
      networks.delete(uid);
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

export const encodeActivity = (
  { name, uid }: UsedKey,
  { at, from, networks }: Omit<WrittenActivity, "uid">,
): Uint8Array =>
  encodeStoredValue({
    apiVersion: "v1",
    kind: "CredentialActivity",
    metadata: { name, uid },
    lastActivity: at,
    ...(from === undefined ? {} : { from: { ...from } }),
    ...(networks.length === 0 ? {} : { networks: [...networks] }),
  });

export function readActivity(record: CachedObject): WrittenActivity {
  const { metadata, lastActivity, from, networks } = record.decode();
  const { address, userAgent } = isJsonObject(from) ? from : {};
  return {
    uid: metadata.uid ?? "",
    at: typeof lastActivity === "number" ? lastActivity : 0,
    from: typeof address === "string" && typeof userAgent === "string" ? { address, userAgent } : undefined,
    networks: isJsonArray(networks) ? networks.filter((network) => typeof network === "string") : [],
  };
}
