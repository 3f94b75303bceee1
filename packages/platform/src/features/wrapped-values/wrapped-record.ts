// The record of a wrapped value. Its name and the key of its content are derived from the value, which is not in the store.

import { hkdfSync } from "node:crypto";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { Random } from "@postern/apiserver/runtime/clock";
import type { StoredEntry } from "@postern/apiserver/storage/storage";
import { openBytes, sealBytes } from "../../foundation/encryption/aes-gcm.ts";
import type { RingKey } from "../../foundation/encryption/key-ring.ts";

/** The credential inside, by which the server knows whether it is still valid. */
export type WrappedCredential =
  | { readonly keyName: string; readonly keyUid: string; readonly keyID: string }
  | { readonly serial: string; readonly instanceUid: string };

/** The object that Events about the value are about. */
export type WrappedSubject = {
  readonly kind: "OwnedAccessKey" | "VirtualClusterInstance";
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
};

/** A client, and when it asked. `at` in milliseconds since the epoch. */
export type Reading = { readonly at: number; readonly address: string; readonly userAgent: string };

/** Why a client is announced: the value had been read before, the key may not be used from there, or it reports the value as leaked. */
export type Suspicion = "ReadAgain" | "Outside" | "Leaked";

export type WrappedRecord = {
  /** Public handle of the value. */
  readonly id: string;
  /** The owner that it counts for. */
  readonly account: string;
  /** Milliseconds since the epoch until which it can be read. */
  readonly expiresAt: number;
  /** Milliseconds since the epoch at which the record is deleted. */
  readonly until: number;
  readonly subject: WrappedSubject;
  readonly credential: WrappedCredential;
  /** Absent once it was read. */
  readonly content?: SealedContent | undefined;
  readonly read?: Reading | undefined;
  /** The first of each that has to be announced. */
  readonly suspicious: readonly (Reading & { readonly why: Suspicion; readonly isAnnounced?: boolean })[];
};

export type SealedContent = { readonly ringKey: string; readonly sealed: string };

const derive = (value: string, salt: string | Uint8Array, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", value, salt, `postern wrapped value ${purpose}`, 32));

/** Values have 256 random bits. */
export const recordNameOf = (value: string): string => Buffer.from(derive(value, "", "name")).toString("hex");

/** It takes the value and the key ring to open it: neither a copy of the store nor a server opens it alone. */
export const sealContent = (value: string, content: JsonObject, ringKey: RingKey, random: Random): SealedContent => ({
  ringKey: ringKey.id,
  sealed: sealBytes(
    derive(value, ringKey.internalRecords, "content"),
    Buffer.from(JSON.stringify(content)),
    recordNameOf(value),
    random,
  ).toString("base64"),
});

/** Undefined if it was not sealed with this value. */
export function openContent(value: string, { sealed }: SealedContent, ringKey: RingKey): JsonObject | undefined {
  const key = derive(value, ringKey.internalRecords, "content");
  const bytes = openBytes(key, Buffer.from(sealed, "base64"), recordNameOf(value));
  const content: unknown = bytes === undefined ? undefined : JSON.parse(bytes.toString());
  return isJsonObject(content) ? content : undefined;
}

export function encodeWrapped(name: string, { content, read, suspicious, ...rest }: WrappedRecord): Uint8Array {
  return encodeStoredValue({
    apiVersion: "v1",
    kind: "WrappedValue",
    metadata: { name },
    ...rest,
    subject: { ...rest.subject },
    credential: { ...rest.credential },
    ...(content === undefined ? {} : { content: { ...content } }),
    ...(read === undefined ? {} : { read: { ...read } }),
    ...(suspicious.length === 0 ? {} : { suspicious: suspicious.map((each) => ({ ...each })) }),
  });
}

export function decodeWrapped(object: CachedObject): WrappedRecord {
  // This file writes the records.
  const { suspicious = [], ...rest } = object.decode() as unknown as Partial<WrappedRecord> &
    Omit<WrappedRecord, "suspicious">;
  return { ...rest, suspicious };
}

/** Whether the value of the record still reads its credential. */
export const isUnread = (record: CachedObject): boolean => decodeWrapped(record).content !== undefined;

export const decodeWrappedEntry = (entry: StoredEntry): WrappedRecord => decodeWrapped(CachedObject.fromEntry(entry));
