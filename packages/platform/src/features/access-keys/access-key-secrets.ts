// All operations on secret values of access keys, in one place that uses the key ring. The store contains only keyed hashes, useless without the
// server key, which is not in the store.

import { hash, timingSafeEqual } from "node:crypto";
import type { Random } from "@postern/apiserver/runtime/clock";
import type { KeyRing } from "../../foundation/encryption/key-ring.ts";
import { createSealedValues, type SealedValues } from "../../foundation/encryption/sealed-value.ts";
import { type AccessKeyFormat, createAccessKeyFormat, newAccessKeyId } from "./access-key-format.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import type { SealedRecordWriter } from "./rotation/sealed-record-writer.ts";
import type { RetiredValue } from "./sealed-access-key.ts";

/** Kept form of a key's value. `structured`: the id stands in the value, so that the key is found by it. */
export type KeptAccessKey = {
  readonly id: string;
  /** base64url. */
  readonly digest: string;
  /** The key of the ring that the digest is under; absent: the ring's first. */
  readonly ringKey?: string;
  readonly structured: boolean;
};

type KeptDigest = Pick<KeptAccessKey, "digest"> & { readonly ringKey?: string | undefined };

export type AccessKeySecrets = SealedValues & {
  readonly format: AccessKeyFormat;
  generate(): string;
  /** Under the key of the ring that is named, or its first; undefined where that is not on the ring. */
  digestOf(value: string, ringKey: string | undefined): Uint8Array | undefined;
  /** Under every key of the ring, that of the primary one first. */
  digestsOf(value: string): readonly Uint8Array[];
  /** Whether a value is the one that was kept. Takes as long where nothing was. */
  matches(kept: KeptDigest | undefined, value: string): boolean;
  /** Whether what was kept is among what `digestsOf` gives. */
  isAmong(kept: KeptDigest, digests: readonly Uint8Array[]): boolean;
  /** Form in which to store a value. A value without a handle in it, or with one that is taken, gets another. */
  keep(value: string, isTaken: (id: string) => boolean): KeptAccessKey;
  /** Form to store in place of `kept` so that it is under the primary key; undefined where it is. */
  renew(kept: KeptAccessKey, value: string): KeptAccessKey | undefined;
  /** Whether a digest is under the primary key; `ringKey` as it is kept. */
  isCurrent(ringKey: string | undefined): boolean;
};

/** Of a value that no key has. */
const NO_DIGEST = new Uint8Array(32);

const bytesOf = ({ digest }: KeptDigest): Uint8Array => Buffer.from(digest, "base64url");

export type AccessKeySecretsDeps = {
  readonly platformName: string;
  readonly keyRing: KeyRing;
  readonly random: Random;
};

export function createAccessKeySecrets({ platformName, keyRing, random }: AccessKeySecretsDeps): AccessKeySecrets {
  const format = createAccessKeyFormat(platformName);
  const keyOf = (ringKey: string | undefined) =>
    ringKey === undefined ? keyRing.keys.find(({ isFirst }) => isFirst) : keyRing.find(ringKey);
  const digestOf: AccessKeySecrets["digestOf"] = (value, ringKey) => {
    const key = keyOf(ringKey);
    return key && accessKeyDigest(key.accessKeys, value);
  };
  const underPrimary = (value: string): Pick<KeptAccessKey, "digest" | "ringKey"> => {
    const [{ id, isFirst, accessKeys }] = keyRing.keys;
    const digest = Buffer.from(accessKeyDigest(accessKeys, value)).toString("base64url");
    return isFirst ? { digest } : { digest, ringKey: id };
  };
  const isCurrent = (ringKey: string | undefined): boolean => keyOf(ringKey) === keyRing.keys[0];
  const values = createSealedValues(
    () => keyRing.keys,
    ({ accessKeys }) => accessKeys,
    random,
  );
  return {
    ...values,
    format,
    digestOf,
    digestsOf: (value) => keyRing.keys.map(({ accessKeys }) => accessKeyDigest(accessKeys, value)),
    matches(kept, value) {
      const [primary] = keyRing.keys;
      const found = kept === undefined ? accessKeyDigest(primary.accessKeys, value) : digestOf(value, kept.ringKey);
      const expected = kept === undefined ? NO_DIGEST : bytesOf(kept);
      return found !== undefined && sameDigest(found, expected) && kept !== undefined;
    },
    isAmong(kept, digests) {
      const expected = bytesOf(kept);
      return digests.filter((digest) => sameDigest(digest, expected)).length > 0;
    },
    generate: () => format.generate(random).value,
    keep(value, isTaken) {
      const id = format.idOf(value);
      const structured = id !== undefined && !isTaken(id);
      return { id: structured ? id : newAccessKeyId(random), ...underPrimary(value), structured };
    },
    renew: ({ id, structured, ringKey }, value) =>
      isCurrent(ringKey) ? undefined : { id, ...underPrimary(value), structured },
    isCurrent,
  };
}

// Puts the digest of an access key under the primary key of the ring when the key is used: only then its value is known.

export type DigestRenewal = {
  readonly keyRing: Pick<KeyRing, "keys">;
  /**
   * The value was presented, belongs to the key, and is valid. True if nothing is to be renewed, which remains so for this revision of the key while
   * `keyRing.keys` is the same array.
   */
  used(key: AccessKeyState, value: string): boolean;
};

export type DigestRenewalDeps = {
  readonly keyRing: Pick<KeyRing, "keys">;
  readonly secrets: Pick<AccessKeySecrets, "isCurrent" | "renew">;
  readonly writer: SealedRecordWriter;
  /** It is tried again at the next use. */
  readonly onError: (error: unknown) => void;
};

/** So many writes at a time: after a rotation every key is used for the first time. The others wait for their next use. */
const MAX_AT_ONCE = 64;

export function createDigestRenewal({ keyRing, secrets, writer, onError }: DigestRenewalDeps): DigestRenewal {
  const running = new Set<string>();

  async function write(key: AccessKeyState, old: KeptAccessKey, renewed: KeptAccessKey): Promise<void> {
    const isOld = ({ id, digest }: KeptAccessKey): boolean => id === old.id && digest === old.digest;
    await writer.write(key, (sealed) => {
      if (sealed.key !== undefined && isOld(sealed.key)) return { ...sealed, key: renewed };
      if (!sealed.retired.some(isOld)) return undefined;
      const retired = sealed.retired.map((value) => (isOld(value) ? { ...restOf(value), ...renewed } : value));
      return { ...sealed, retired };
    });
  }

  return {
    keyRing,
    used(key, value) {
      const { id, kept } = key;
      if (secrets.isCurrent(key.ringKey)) return true;
      if (kept === undefined || running.size >= MAX_AT_ONCE || running.has(id)) return false;
      // The digest waits for the store, never the value.
      const renewed = secrets.renew(kept, value);
      if (renewed === undefined) return false;
      running.add(id);
      void write(key, kept, renewed)
        .catch(onError)
        .finally(() => running.delete(id));
      return false;
    },
  };
}

const restOf = ({ ringKey: _, ...rest }: RetiredValue): Omit<RetiredValue, "ringKey"> => rest;

// The only form in which a key is kept: a keyed hash, useless without the server key, which is not in the store.

/** Of SHA-256, in bytes. */
const BLOCK_LENGTH = 64;

type Pads = { readonly inner: Uint8Array; readonly outer: Uint8Array };

const padsByKey = new WeakMap<Uint8Array, Pads>();

/**
 * HMAC-SHA-256 of a key under the server key, which has 64 bytes at most. Put together from two hashes, since it is made for every request,
 * and each `Hmac` of Node is an object that outlives the request. Source: RFC 2104.
 */
export function accessKeyDigest(serverKey: Uint8Array, value: string): Uint8Array {
  const { inner, outer } = padsOf(serverKey);
  return sha256(outer, sha256(inner, Buffer.from(value)));
}

function padsOf(serverKey: Uint8Array): Pads {
  const known = padsByKey.get(serverKey);
  if (known !== undefined) return known;
  if (serverKey.length > BLOCK_LENGTH) throw new RangeError(`a server key has ${BLOCK_LENGTH} bytes at most`);
  const pads = { inner: padded(serverKey, 0x36), outer: padded(serverKey, 0x5c) };
  padsByKey.set(serverKey, pads);
  return pads;
}

const padded = (key: Uint8Array, filler: number): Uint8Array =>
  Uint8Array.from({ length: BLOCK_LENGTH }, (_, at) => (key[at] ?? 0) ^ filler);

/** Node hands hexadecimal out quicker than bytes. */
const sha256 = (head: Uint8Array, tail: Uint8Array): Buffer =>
  Buffer.from(hash("sha256", Buffer.concat([head, tail]), "hex"), "hex");

/** Takes the same time wherever the two differ. */
const sameDigest = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);
