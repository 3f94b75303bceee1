// One-time values with which clusters join: one of each Cluster, stored as a hash, until it is used or has expired.

import { createHash, timingSafeEqual } from "node:crypto";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { KeyExistsError, RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { ExpiringRecords } from "../../foundation/store/expiring-records.ts";
import type { AccessKeyFormat } from "../access-keys/access-key-format.ts";
import type { AgentPlace } from "./agent-targets.ts";

export const JOIN_VALUE_MS = 60 * 60_000;

/** A value that is still good. */
export type JoinValue = AgentPlace & {
  readonly clusterUid: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
};

export type JoinValues = {
  /** Resolves with a new value. It replaces the one that the Cluster had. */
  create(place: AgentPlace, uid: string): Promise<{ readonly value: string; readonly until: number }>;
  /** Undefined for a value that is unknown, used or expired. */
  find(value: string): JoinValue | undefined;
  /** Resolves with false where another request was first. */
  take(value: string): Promise<boolean>;
  /** Forgets the value of a Cluster. */
  remove(clusterUid: string): Promise<void>;
};

const hashOf = (value: string): Buffer => createHash("sha256").update(value).digest();

/** `format`: that of access keys, so that logs, the audit log and scanners recognise such values. */
export function createJoinValues(
  { view, prefix, storage }: ExpiringRecords,
  { clock, random }: Pick<Runtime, "clock" | "random">,
  format: Pick<AccessKeyFormat, "generate" | "idOf">,
): JoinValues {
  const readEntry = CachedObject.entryReader();

  /** There are as many as Clusters that are about to join. */
  function recordOf(value: string): CachedObject | undefined {
    if (format.idOf(value) === undefined) return undefined;
    const hash = hashOf(value);
    return [...view.list(prefix)].find((record) => {
      const kept = Buffer.from(String(record.decode()["hash"]), "base64");
      return kept.length === hash.length && timingSafeEqual(kept, hash);
    });
  }

  function valueIn(record: CachedObject): JoinValue | undefined {
    // This file writes the records.
    const { cluster, namespace, clusterUid, until } = record.decode() as unknown as JoinValue;
    const place = { cluster, ...(namespace === undefined ? {} : { namespace }) };
    return until > clock.now() ? { ...place, clusterUid, until } : undefined;
  }

  return {
    async create(place, uid) {
      const { value } = format.generate(random);
      const until = clock.now() + JOIN_VALUE_MS;
      const content = { until, ...place, clusterUid: uid, hash: hashOf(value).toString("base64") };
      const bytes = encodeStoredValue({ apiVersion: "v1", kind: "ClusterJoin", metadata: { name: uid }, ...content });
      const key = prefix + uid;
      for (;;) {
        const entry = await storage.get(key);
        try {
          await (entry === undefined ? storage.create(key, bytes) : storage.update(key, bytes, entry.revision));
          return { value, until };
        } catch (error) {
          if (!(error instanceof KeyExistsError || error instanceof RevisionConflictError)) throw error;
        }
      }
    },
    find(value) {
      const record = recordOf(value);
      return record && valueIn(record);
    },
    async take(value) {
      const record = recordOf(value);
      if (record === undefined || valueIn(record) === undefined) return false;
      try {
        await storage.delete(record.key, record.revision);
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
  };
}
