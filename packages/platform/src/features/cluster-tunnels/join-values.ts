// One-time values with which clusters join: one of each Cluster, stored as a hash. A used or expired one is remembered for a day, to say so.

import { createHash } from "node:crypto";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { KeyExistsError, RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { ExpiringRecords } from "../../foundation/store/expiring-records.ts";
import type { AccessKeyFormat } from "../access-keys/access-key-format.ts";
import type { AgentPlace } from "./agent-targets.ts";

export const JOIN_VALUE_MS = 60 * 60_000;
const REMEMBERED_MS = 24 * 60 * 60_000;

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
  /** A value that was used, or has expired, in the last day. */
  spent(value: string): SpentJoinValue | undefined;
  /** Uses the value up. Resolves with false where another request was first. */
  take(value: string, peerUid: string): Promise<boolean>;
  /** Forgets the value of a Cluster. */
  remove(clusterUid: string): Promise<void>;
};

type StoredJoinValue = AgentPlace & {
  readonly clusterUid: string;
  readonly hash: string;
  readonly until: number;
  readonly goodUntil: number;
  readonly used?: JoinValueUse;
};

const hashOf = (value: string): string => createHash("sha256").update(value).digest("base64");

/** `format`: that of access keys, so that logs, the audit log and scanners recognise such values. */
export function createJoinValues(
  { view, prefix, storage }: ExpiringRecords,
  { clock, random, scheduler }: Pick<Runtime, "clock" | "random" | "scheduler">,
  format: Pick<AccessKeyFormat, "generate" | "idOf">,
): JoinValues {
  const readEntry = CachedObject.entryReader();

  /** By the hash of the value: each project has as many as virtual clusters, and requests without a credential ask for them. */
  const records = new Map<string, CachedObject>();
  const hashes = new Map<string, string>();
  function forget({ key }: CachedObject): void {
    records.delete(hashes.get(key) ?? "");
    hashes.delete(key);
  }
  function put(record: CachedObject): void {
    forget(record);
    const hash = String(record.decode()["hash"]);
    records.set(hash, record);
    hashes.set(record.key, hash);
  }
  const following = followView({ view, prefix }, scheduler, {
    replace(all) {
      records.clear();
      hashes.clear();
      for (const record of all) put(record);
    },
    put,
    delete: forget,
  });
  const recordOf = (value: string): CachedObject | undefined =>
    format.idOf(value) === undefined ? undefined : records.get(hashOf(value));

  /** `goodUntil` ends the value, `until` the record. */
  const contentOf = (record: CachedObject): StoredJoinValue => {
    // This file writes the records.
    const stored = record.decode() as unknown as StoredJoinValue;
    const { cluster, namespace, clusterUid, hash, until, goodUntil = until, used } = stored;
    return {
      ...{ cluster, clusterUid, hash, until, goodUntil },
      ...(namespace === undefined ? {} : { namespace }),
      ...(used === undefined ? {} : { used }),
    };
  };
  function valueIn(record: CachedObject): JoinValue | undefined {
    const { cluster, namespace, clusterUid, goodUntil, used } = contentOf(record);
    if (used !== undefined || goodUntil <= clock.now()) return undefined;
    return { cluster, ...(namespace === undefined ? {} : { namespace }), clusterUid, until: goodUntil };
  }
  const bytesOf = (content: StoredJoinValue): Uint8Array =>
    encodeStoredValue({ apiVersion: "v1", kind: "ClusterJoin", metadata: { name: content.clusterUid }, ...content });

  return {
    async create(place, uid) {
      const { value } = format.generate(random);
      const goodUntil = clock.now() + JOIN_VALUE_MS;
      const until = goodUntil + REMEMBERED_MS;
      const bytes = bytesOf({ until, goodUntil, ...place, clusterUid: uid, hash: hashOf(value) });
      const key = prefix + uid;
      for (;;) {
        const entry = await storage.get(key);
        try {
          await (entry === undefined ? storage.create(key, bytes) : storage.update(key, bytes, entry.revision));
          return { value, until: goodUntil };
        } catch (error) {
          if (!(error instanceof KeyExistsError || error instanceof RevisionConflictError)) throw error;
        }
      }
    },
    find(value) {
      const record = recordOf(value);
      return record && valueIn(record);
    },
    spent(value) {
      const record = recordOf(value);
      if (record === undefined || valueIn(record) !== undefined) return undefined;
      const { cluster, namespace, clusterUid, used } = contentOf(record);
      return { cluster, ...(namespace === undefined ? {} : { namespace }), clusterUid, used };
    },
    async take(value, peerUid) {
      const record = recordOf(value);
      if (record === undefined || valueIn(record) === undefined) return false;
      const bytes = bytesOf({ ...contentOf(record), used: { at: clock.now(), peerUid } });
      try {
        await storage.update(record.key, bytes, record.revision);
        return true;
      } catch (error) {
        if (error instanceof RevisionConflictError) return false;
        throw error;
      }
    },
    async remove(clusterUid) {
      const entry = await storage.get(prefix + clusterUid);
      const record = entry && readEntry(entry);
      if (record === undefined) return;
      try {
        await storage.delete(record.key, record.revision);
      } catch (error) {
        if (!(error instanceof RevisionConflictError)) throw error;
      }
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}
