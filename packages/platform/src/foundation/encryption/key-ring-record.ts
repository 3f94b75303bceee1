// The stored key ring: sealed under a key that is sealed under the server key, which is not in the store.

import { createHash } from "node:crypto";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { Random } from "@postern/apiserver/runtime/clock";
import { openBytes, sealBytes } from "./aes-gcm.ts";
import { deriveKey, type RingSecret } from "./key-ring.ts";

/** Below the prefix of objects, so that followers of those learn of a new key before any value under it. */
export const KEY_RING_KEY = "/registry/management/internal/key-ring";

export type KeyRingContent = {
  /** The newest first. */
  readonly secrets: readonly [RingSecret, ...RingSecret[]];
  /** When the newest one came, in milliseconds since the epoch. */
  readonly rotatedAt: number;
};

/** Keys that open a record and are needed to write the next one. */
export type OpenedKeyRing = KeyRingContent & {
  readonly sealingKey: Uint8Array;
  readonly wraps: readonly WrappedKey[];
};

/** The key of the record under one server key. */
export type WrappedKey = { readonly serverKey: string; readonly wrapped: string };

/** The ring of a store that cannot be used. The message is one line. */
export class KeyRingError extends Error {
  override readonly name = "KeyRingError";
}

const VERSION = 1;
const KEY_BYTES = 32;
const ID_LENGTH = 8;

/** Identifies a server key without revealing it. */
export const serverKeyId = (serverSecret: Uint8Array): string =>
  createHash("sha256").update(wrappingKey(serverSecret)).digest("hex").slice(0, ID_LENGTH);

export const newSealingKey = (random: Random): Uint8Array => random.bytes(KEY_BYTES);

export const wrapSealingKey = (serverSecret: Uint8Array, sealingKey: Uint8Array, random: Random): WrappedKey => ({
  serverKey: serverKeyId(serverSecret),
  wrapped: sealBytes(wrappingKey(serverSecret), sealingKey, KEY_RING_KEY, random).toString("base64url"),
});

export function encodeKeyRing({ secrets, rotatedAt, sealingKey, wraps }: OpenedKeyRing, random: Random): Uint8Array {
  const content = {
    rotatedAt,
    secrets: secrets.map(({ secret, createdAt, isFirst }) => ({
      secret: Buffer.from(secret).toString("base64url"),
      createdAt,
      isFirst,
    })),
  };
  return encodeStoredValue(
    { apiVersion: "v1", kind: "InternalRecord", metadata: { name: "key-ring" } },
    {
      version: VERSION,
      wraps: wraps.map((wrap) => ({ ...wrap })),
      content: sealBytes(sealingKey, Buffer.from(JSON.stringify(content)), KEY_RING_KEY, random).toString("base64url"),
    },
  );
}

/** Throws KeyRingError if none of the server keys opens it, or if it was tampered with. */
export function decodeKeyRing(value: Uint8Array, serverSecrets: readonly Uint8Array[]): OpenedKeyRing {
  const record = decodeRecord(value);
  if (record["version"] !== VERSION) {
    throw new KeyRingError("the key ring in the store was written by a newer release: run that release");
  }
  const wraps = isJsonArray(record["wraps"]) ? record["wraps"].filter(isJsonObject).map(readWrap) : [];
  const sealingKey = unwrap(wraps, serverSecrets);
  const content = openBytes(sealingKey, Buffer.from(textOf(record["content"]), "base64url"), KEY_RING_KEY);
  if (content === undefined) throw damaged();
  const { rotatedAt, secrets } = parseObject(content.toString());
  const [first, ...others] = isJsonArray(secrets) ? secrets.filter(isJsonObject).map(readSecret) : [];
  if (first === undefined) throw damaged();
  return { sealingKey, wraps, rotatedAt: Number(rotatedAt), secrets: [first, ...others] };
}

function decodeRecord(value: Uint8Array): JsonObject {
  try {
    return CachedObject.fromEntry({ key: KEY_RING_KEY, value, revision: 0 }).decodeSealed() ?? {};
  } catch (error) {
    throw damaged(error);
  }
}

function unwrap(wraps: readonly WrappedKey[], serverSecrets: readonly Uint8Array[]): Uint8Array {
  for (const secret of serverSecrets) {
    const wrap = wraps.find(({ serverKey }) => serverKey === serverKeyId(secret));
    if (wrap === undefined) continue;
    const key = openBytes(wrappingKey(secret), Buffer.from(wrap.wrapped, "base64url"), KEY_RING_KEY);
    if (key === undefined) throw damaged();
    return key;
  }
  const known = wraps.map(({ serverKey }) => serverKey).join(", ");
  throw new KeyRingError(
    `the store's key ring is encrypted with server key ${known}, not with the given one (${serverSecrets.map(serverKeyId).join(", ")})`,
  );
}

const damaged = (cause?: unknown): KeyRingError =>
  new KeyRingError("the key ring in the store is damaged or was tampered with: restore a backup", { cause });

const wrappingKey = (serverSecret: Uint8Array): Uint8Array => deriveKey(serverSecret, "key ring");

const readWrap = ({ serverKey, wrapped }: JsonObject): WrappedKey => ({
  serverKey: textOf(serverKey),
  wrapped: textOf(wrapped),
});

const readSecret = ({ secret, createdAt, isFirst }: JsonObject): RingSecret => ({
  secret: Buffer.from(textOf(secret), "base64url"),
  createdAt: Number(createdAt),
  isFirst: isFirst === true,
});

/** An opened value is as it was written. */
function parseObject(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  if (!isJsonObject(value)) throw damaged();
  return value;
}
