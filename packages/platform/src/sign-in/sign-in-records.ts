// Records between the steps of a sign-in, for all servers: encrypted, found by a secret that is not in the store, used once, and deleted after
// minutes.

import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { SealedValues } from "../encryption/sealed-value.ts";
import type { ExpiringRecords } from "../store/expiring-records.ts";

/** `pending`: signed in, not confirmed yet; `code`: for a command line to redeem; `device`: a device code; `user-code`: refers to one. */
export type RecordKind = "pending" | "code" | "device" | "user-code";

export type SignInRecord = {
  readonly content: JsonObject;
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly revision: number;
};

export type SignInRecords = {
  /** Resolves with false if there are too many. */
  put(kind: RecordKind, secret: string, content: JsonObject, until: number): Promise<boolean>;
  /** Undefined if it does not exist, has expired, or belongs to another user. */
  read(kind: RecordKind, secret: string): Promise<SignInRecord | undefined>;
  /** The same, and deletes it: of two callers, only one gets it. */
  take(kind: RecordKind, secret: string): Promise<JsonObject | undefined>;
  /** Resolves with false if it has changed since it was read. */
  replace(kind: RecordKind, secret: string, before: SignInRecord, content: JsonObject): Promise<boolean>;
};

const MAX_RECORDS = 5_000;
/** Unauthenticated clients may create these, so some room is reserved for signed-in users. */
const MAX_OF_STRANGERS = 4_000;
const OF_STRANGERS: readonly RecordKind[] = ["device", "user-code"];

export function createSignInRecords(
  { view, prefix, storage }: ExpiringRecords,
  sealed: Pick<SealedValues, "seal" | "open">,
  clock: Clock,
): SignInRecords {
  const nameOf = (kind: RecordKind, secret: string): string =>
    createHash("sha256").update(`${kind} ${secret}`).digest("hex");
  const encode = (name: string, content: JsonObject, until: number): Uint8Array =>
    encodeStoredValue({
      apiVersion: "v1",
      kind: "SignInStep",
      metadata: { name },
      until,
      content: sealed.seal(stringifyJson(content), purposeOf(name)),
    });

  const read: SignInRecords["read"] = async (kind, secret) => {
    const name = nameOf(kind, secret);
    const entry = await storage.get(prefix + name);
    if (entry === undefined) return undefined;
    const { until, content } = CachedObject.fromEntry(entry).decode();
    const end = Number(until ?? 0);
    const text = typeof content === "string" ? sealed.open(content, purposeOf(name)) : undefined;
    if (end <= clock.now() || text === undefined) return undefined;
    const value = parseJson(text);
    return isJsonObject(value) ? { content: value, until: end, revision: entry.revision } : undefined;
  };

  return {
    read,
    async put(kind, secret, content, until) {
      const most = OF_STRANGERS.includes(kind) ? MAX_OF_STRANGERS : MAX_RECORDS;
      if ([...view.list(prefix)].length >= most) return false;
      const name = nameOf(kind, secret);
      await storage.create(prefix + name, encode(name, content, until));
      return true;
    },
    async take(kind, secret) {
      const found = await read(kind, secret);
      if (found === undefined) return undefined;
      try {
        await storage.delete(prefix + nameOf(kind, secret), found.revision);
        return found.content;
      } catch (error) {
        if (error instanceof RevisionConflictError) return undefined;
        throw error;
      }
    },
    async replace(kind, secret, { until, revision }, content) {
      const name = nameOf(kind, secret);
      try {
        await storage.update(prefix + name, encode(name, content, until), revision);
        return true;
      } catch (error) {
        if (error instanceof RevisionConflictError) return false;
        throw error;
      }
    },
  };
}

const purposeOf = (name: string): string => `step of sign-in ${name}`;
