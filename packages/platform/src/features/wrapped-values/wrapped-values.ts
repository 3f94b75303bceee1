// Values that read a credential once, on whichever server: the first reading takes the content out of the record, which stays for a day, so that
// another reading is noticed.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { KeyRing } from "../../foundation/encryption/key-ring.ts";
import type { ExpiringRecords } from "../../foundation/store/expiring-records.ts";
import { type FollowedAccounts, fullAccountError } from "../../foundation/store/record-accounts.ts";
import { type AccessKeyOwner, accountOfOwner } from "../access-keys/access-key-owner.ts";
import type { AccessKeyFormat } from "../access-keys/secrets/access-key-format.ts";
import type { ReadRecords } from "./read-records.ts";
import {
  decodeWrappedEntry,
  encodeWrapped,
  openContent,
  type Reading,
  recordNameOf,
  type Suspicion,
  sealContent,
  type WrappedCredential,
  type WrappedRecord,
  type WrappedSubject,
} from "./wrapped-record.ts";

export type WrapRequest = {
  /** The owner of the credential, among whose values it counts. */
  readonly owner: AccessKeyOwner;
  readonly subject: WrappedSubject;
  readonly credential: WrappedCredential;
  /** Members of the response to its reader. */
  readonly content: JsonObject;
  /** Milliseconds. */
  readonly validMs: number;
};

export type WrappedValue = {
  readonly value: string;
  /** Public handle of the value. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
};

export type Unwrapped =
  | { readonly outcome: "read"; readonly record: WrappedRecord; readonly content: JsonObject }
  | { readonly outcome: "unknown" }
  /** `at` in milliseconds since the epoch: the first reading. */
  | { readonly outcome: "read-before"; readonly record: WrappedRecord; readonly at: number }
  | { readonly outcome: "outside"; readonly record: WrappedRecord }
  | { readonly outcome: "revoked"; readonly record: WrappedRecord };

export type WrappedValues = {
  /** Forgets values of the owner that were read if there is no room for another one. Rejects with ApiError 403 where none was. */
  makeRoom(owner: AccessKeyOwner): Promise<void>;
  /** Makes room as well. */
  wrap(request: WrapRequest): Promise<WrappedValue>;
  /** Reads the content if `refusalOf` has nothing against it. The content is gone from the store when this resolves. */
  unwrap(
    value: string,
    reading: Reading,
    refusalOf: (record: WrappedRecord) => "outside" | "revoked" | undefined,
  ): Promise<Unwrapped>;
  /** Notes that a client reports the value as leaked. `discard`: the content is gone from the store when this resolves. */
  report(value: string, by: Reading, options: { readonly discard: boolean }): Promise<void>;
};

/** Wrapped values of one owner. */
export const WRAPPED_LIMIT: StoredAmount = { objects: 1_000, bytes: 8 << 20 };
/** Time for which a reading is remembered. */
export const REMEMBERED_MS = 24 * 3_600_000;
const MAX_FORGOTTEN_AT_ONCE = 20;

export function createWrappedValues(deps: {
  readonly records: ExpiringRecords;
  readonly accounts: Pick<FollowedAccounts, "isFull" | "during" | "has">;
  readonly read: Pick<ReadRecords, "oldestOf">;
  readonly keyRing: KeyRing;
  readonly runtime: Pick<Runtime, "clock" | "random">;
  /** The format of access keys: logs, the audit log and scanners recognise such values. */
  readonly format: Pick<AccessKeyFormat, "generate" | "idOf">;
  /** Default: 1,000 values and 8 MiB. */
  readonly limit?: StoredAmount;
}): WrappedValues {
  const { records, accounts, read, keyRing, format, limit = WRAPPED_LIMIT } = deps;
  const { prefix, storage } = records;
  const { clock, random } = deps.runtime;

  function checkRoom(owner: AccessKeyOwner): void {
    if (!accounts.isFull(accountOfOwner(owner), limit)) return;
    throw fullAccountError(
      `the ${owner.kind} ${JSON.stringify(owner.name)} has too many wrapped values that were not read, and the limit is ${limit.objects} with ${limit.bytes} bytes: wait until they expire`,
    );
  }

  async function makeRoom(owner: AccessKeyOwner): Promise<void> {
    const account = accountOfOwner(owner);
    if (!accounts.isFull(account, limit)) return;
    const oldest = read.oldestOf(account, MAX_FORGOTTEN_AT_ONCE);
    await Promise.all(oldest.map(({ key, revision }) => unlessConflict(storage.delete(key, revision))));
    checkRoom(owner);
  }

  /** Resolves with false where another request was first. */
  async function replace(key: string, next: WrappedRecord, revision: StoredRevision): Promise<boolean> {
    const written = storage.update(key, encodeWrapped(key.slice(prefix.length), next), revision);
    return (await unlessConflict(written)) !== undefined;
  }

  /** The first suspicious reading of each kind is kept: no holder of a value makes more than that. */
  async function suspect(
    key: string,
    record: WrappedRecord,
    revision: StoredRevision,
    reading: Reading,
    why: Suspicion,
  ): Promise<boolean> {
    if (record.suspicious.some((known) => known.why === why)) return true;
    return await replace(key, { ...record, suspicious: [...record.suspicious, { ...reading, why }] }, revision);
  }

  async function contentOf(value: string, { content }: WrappedRecord): Promise<JsonObject | undefined> {
    if (content === undefined) return undefined;
    // Another server may have added the key.
    if (keyRing.find(content.ringKey) === undefined) await keyRing.refresh();
    const ringKey = keyRing.find(content.ringKey);
    return ringKey && openContent(value, content, ringKey);
  }

  return {
    makeRoom,
    async wrap({ owner, subject, credential, content, validMs }) {
      await makeRoom(owner);
      // In the same turn of the event loop as the count, so that concurrent requests do not all take the last place.
      checkRoom(owner);
      const { value } = format.generate(random);
      const id = format.idOf(value) ?? "";
      const expiresAt = clock.now() + validMs;
      const [ringKey] = keyRing.keys;
      const record: WrappedRecord = {
        id,
        account: accountOfOwner(owner),
        expiresAt,
        until: expiresAt,
        subject,
        credential,
        content: sealContent(value, content, ringKey, random),
        suspicious: [],
      };
      const name = recordNameOf(value);
      const key = prefix + name;
      await accounts.during(
        record.account,
        () => accounts.has(key),
        () => storage.create(key, encodeWrapped(name, record)),
      );
      return { value, id, expiresAt };
    },
    async unwrap(value, reading, refusalOf) {
      // A value of another form is refused before the store is asked.
      if (format.idOf(value) === undefined) return { outcome: "unknown" };
      const key = prefix + recordNameOf(value);
      for (;;) {
        // Not from memory: another server may just have written it.
        const entry = await storage.get(key);
        const record = entry && decodeWrappedEntry(entry);
        if (entry === undefined || record === undefined || record.until <= reading.at) return { outcome: "unknown" };
        if (record.read !== undefined) {
          if (await suspect(key, record, entry.revision, reading, "ReadAgain"))
            return { outcome: "read-before", record, at: record.read.at };
          continue;
        }
        const refusal = refusalOf(record);
        if (refusal === "outside" && !(await suspect(key, record, entry.revision, reading, "Outside"))) continue;
        if (refusal !== undefined) return { outcome: refusal, record };
        const content = await contentOf(value, record);
        if (content === undefined) return { outcome: "unknown" };
        const { content: _, ...rest } = record;
        const taken = { ...rest, read: reading, until: reading.at + REMEMBERED_MS };
        if (await replace(key, taken, entry.revision)) return { outcome: "read", record, content };
      }
    },
    async report(value, by, { discard }) {
      if (format.idOf(value) === undefined) return;
      const key = prefix + recordNameOf(value);
      for (;;) {
        const entry = await storage.get(key);
        const record = entry && decodeWrappedEntry(entry);
        if (entry === undefined || record === undefined || record.until <= by.at) return;
        const { content: _, ...rest } = record;
        if (await suspect(key, discard ? rest : record, entry.revision, by, "Leaked")) return;
      }
    },
  };
}

type StoredRevision = CachedObject["revision"];
