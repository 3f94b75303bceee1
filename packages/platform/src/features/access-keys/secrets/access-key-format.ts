// The format of access keys, `<prefix>_<id>_<secret><crc>`: scanners recognise keys, and the server rejects other strings without a lookup.

import { crc32 } from "node:zlib";
import type { Random } from "@postern/apiserver/runtime/clock";

export const ACCESS_KEY_ID_LENGTH = 10;
/** Characters of base62 for 256 bits. */
const SECRET_LENGTH = 43;
/** 32 bits in base62. */
const CHECKSUM_LENGTH = 6;
const PREFIX_LENGTH = 3;

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export type AccessKeyFormat = {
  /** A new key: 256 bits of randomness. */
  generate(random: Random): { readonly id: string; readonly value: string };
  /** The handle in a key of this format; undefined for anything else, also where the checksum is wrong. */
  idOf(value: string): string | undefined;
  /** Whether a text contains a key of this format. */
  find(text: string): boolean;
  /** All of them, in their order. */
  all(text: string): readonly string[];
};

const NONE: readonly string[] = [];

export function createAccessKeyFormat(platformName: string): AccessKeyFormat {
  const prefix = accessKeyPrefix(platformName);
  const body = `${prefix}_([a-z2-7]{${ACCESS_KEY_ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}`;
  // linear: of one length
  const shape = new RegExp(`^${body}$`);
  // linear: of one length
  const anywhere = new RegExp(body, "g");
  const idOf = (value: string): string | undefined => {
    const id = shape.exec(value)?.[1];
    if (id === undefined) return undefined;
    return value.endsWith(checksumOf(value.slice(0, -CHECKSUM_LENGTH))) ? id : undefined;
  };
  // Nearly no text has one.
  const all = (text: string): readonly string[] =>
    text.includes(`${prefix}_`)
      ? [...text.matchAll(anywhere)].map(([value]) => value).filter((value) => idOf(value) !== undefined)
      : NONE;

  return {
    generate(random) {
      const id = newAccessKeyId(random);
      const body = `${prefix}_${id}_${randomDigits(random, SECRET_LENGTH)}`;
      return { id, value: body + checksumOf(body) };
    },
    idOf,
    find: (text) => all(text).length > 0,
    all,
  };
}

/** `postern` → `pst`: the first letter and the consonants after it, filled up from the name where they do not suffice. */
export function accessKeyPrefix(platformName: string): string {
  const letters = platformName.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const bones = letters.slice(0, 1) + letters.slice(1).replaceAll(/[aeiou]/g, "");
  return (bones.length < PREFIX_LENGTH ? letters : bones).slice(0, PREFIX_LENGTH) || "key";
}

/** A public handle. It is not a secret. */
export function newAccessKeyId(random: Random): string {
  let id = "";
  for (const byte of random.bytes(ACCESS_KEY_ID_LENGTH)) id += BASE32.charAt(byte & 31);
  return id;
}

/** Computed for every request: 32 bits need no BigInt. */
function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let at = 0; at < CHECKSUM_LENGTH; at++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Below it, the bytes have each remainder equally often. */
const FAIR_BYTES = 4 * 62;
/** One in 32 bytes is thrown away: most draws suffice. */
const BYTES_AT_ONCE = 50;

/** Each drawn separately: a remainder of all bytes at once would need long division. */
function randomDigits(random: Random, length: number): string {
  const digits = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    for (const byte of random.bytes(BYTES_AT_ONCE)) {
      if (byte < FAIR_BYTES && at < length) digits[at++] = BASE62.charCodeAt(byte % 62);
    }
  }
  return digits.toString("latin1");
}
