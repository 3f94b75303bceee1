// One-time values with which clusters join: one of each Cluster, stored as a hash. A used one is remembered for a day, to say so.

import { createHash } from "node:crypto";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { putUnlessConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { ExpiringRecords } from "../../foundation/store/expiring-records.ts";
import type { AccessKeyFormat } from "../access-keys/secrets/access-key-format.ts";
import { type AgentPlace, placeOf } from "./agent-targets.ts";

export const JOIN_VALUE_MS = 60 * 60_000;
const REMEMBERED_MS = 24 * 60 * 60_000;
/** Expired values whose end this server has seen. */
const MAX_EXPIRED = 1_000;

/** A value that is still good. */
export type JoinValue = AgentPlace & {
  readonly clusterUid: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
};

/** A value that was good once. */
export type SpentJoinValue = AgentPlace & {
  readonly clusterUid: string;
  /** Undefined for one that has expired. */
  readonly used: JoinValueUse | undefined;
};

export type JoinValueUse = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Uid of the cluster that joined. */
  readonly peerUid: string;
};

export type JoinValues = Disposable & {
  /** Resolves with a new value. It replaces the one that the Cluster had. */
  create(place: AgentPlace, uid: string): Promise<{ readonly value: string; readonly until: number }>;
  /** Undefined for a value that is unknown, used or expired. */
  find(value: string): JoinValue | undefined;
  /** A value that was used in the last day, or expired while this server ran. */
  spent(value: string): SpentJoinValue | undefined;
  /** Uses the value up. Resolves with false where another request was first. */
  take(value: string, peerUid: string): Promise<boolean>;
  /** Forgets the value of a Cluster. */
  remove(clusterUid: string): Promise<void>;
};

/**
 * The record goes at `until`, which is the end of a value that was not used: no clock that is set back makes it good again (ADR 171). A used one has
 * `digest` in place of `hash`, so that releases that know no used values do not find it.
 */
type StoredJoinValue = AgentPlace & {
  readonly clusterUid: string;
  readonly until: number;
} & ({ readonly hash: string } | { readonly digest: string; readonly used: JoinValueUse });

/** Whether no cluster has joined with the value of the record. */
export const isUnused = (record: CachedObject): boolean => "hash" in record.decode();

const hashOf = (value: string): string => createHash("sha256").update(value).digest("base64");

/** `format`: that of access keys, so that logs, the audit log and scanners recognise such values. */
export function createJoinValues(
  { view, prefix, storage }: ExpiringRecords,
  { clock, random, scheduler }: Pick<Runtime, "clock" | "random" | "scheduler">,
  format: Pick<AccessKeyFormat, "generate" | "idOf">,
): JoinValues {
  const readEntry = CachedObject.entryReader();

  // This file writes the records.
  const contentOf = (record: CachedObject): StoredJoinValue => record.decode() as unknown as StoredJoinValue;
  const digestOf = (content: StoredJoinValue): string => ("hash" in content ? content.hash : content.digest);
  const isGood = (content: StoredJoinValue): boolean => "hash" in content && content.until > clock.now();
  const bytesOf = (content: StoredJoinValue): Uint8Array =>
    encodeStoredValue({ apiVersion: "v1", kind: "ClusterJoin", metadata: { name: content.clusterUid }, ...content });

  /** By the hash of the value: each project has as many as virtual clusters, and requests without a credential ask for them. */
  const records = new Map<string, CachedObject>();
  const hashes = new Map<string, string>();
  const expired = new Map<string, StoredJoinValue>();
  function forget({ key }: CachedObject): void {
    records.delete(hashes.get(key) ?? "");
    hashes.delete(key);
  }
  function put(record: CachedObject): void {
    forget(record);
    const digest = digestOf(contentOf(record));
    records.set(digest, record);
    hashes.set(record.key, digest);
  }
  function rememberEnd(record: CachedObject): void {
    const content = contentOf(record);
    if (!("hash" in content) || content.until > clock.now()) return;
    expired.set(content.hash, content);
    const [oldest] = expired.keys();
    if (oldest !== undefined && expired.size > MAX_EXPIRED) expired.delete(oldest);
  }
  const following = followView({ view, prefix }, scheduler, {
    replace(all) {
      records.clear();
      hashes.clear();
      for (const record of all) put(record);
    },
    put,
    delete(record) {
      forget(record);
      rememberEnd(record);
    },
  });
  const recordOf = (value: string): CachedObject | undefined =>
    format.idOf(value) === undefined ? undefined : records.get(hashOf(value));

  return {
    async create(place, uid) {
      const { value } = format.generate(random);
      const until = clock.now() + JOIN_VALUE_MS;
      const bytes = bytesOf({ until, ...place, clusterUid: uid, hash: hashOf(value) });
      const key = prefix + uid;
      for (;;) {
        const written = await putUnlessConflict(storage, key, bytes, await storage.get(key));
        if (written !== undefined) return { value, until };
      }
    },
    find(value) {
      const record = recordOf(value);
      const content = record && contentOf(record);
      if (content === undefined || !isGood(content)) return undefined;
      return { ...placeOf(content), clusterUid: content.clusterUid, until: content.until };
    },
    spent(value) {
      const record = recordOf(value);
      const content = record === undefined ? expired.get(hashOf(value)) : contentOf(record);
      if (content === undefined || isGood(content)) return undefined;
      const used = "used" in content ? content.used : undefined;
      return { ...placeOf(content), clusterUid: content.clusterUid, used };
    },
    async take(value, peerUid) {
      const record = recordOf(value);
      const content = record && contentOf(record);
      if (record === undefined || content === undefined || !isGood(content)) return false;
      const [at, { clusterUid }] = [clock.now(), content];
      const used = { at, peerUid };
      const bytes = bytesOf({
        ...placeOf(content),
        clusterUid,
        until: at + REMEMBERED_MS,
        digest: hashOf(value),
        used,
      });
      return (await unlessConflict(storage.update(record.key, bytes, record.revision))) !== undefined;
    },
    async remove(clusterUid) {
      const entry = await storage.get(prefix + clusterUid);
      const record = entry && readEntry(entry);
      if (record !== undefined) await unlessConflict(storage.delete(record.key, record.revision));
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}
