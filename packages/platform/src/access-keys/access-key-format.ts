// What an access key looks like: `<prefix>_<id>_<secret><crc>`, so that anybody who finds one can tell whose kind it is, and noise
// is told from a key without a lookup.

import { crc32 } from "node:zlib";
import type { Random } from "@postern/apiserver/runtime/clock";

export const ACCESS_KEY_ID_LENGTH = 10;
const SECRET_BYTES = 32;
/** 256 bits in base62. */
const SECRET_LENGTH = 43;
/** 32 bits in base62. */
const CHECKSUM_LENGTH = 6;
const PREFIX_LENGTH = 3;

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export type AccessKeyFormat = {
  readonly prefix: string;
  /** A new key: 256 bits of randomness. */
  generate(random: Random): { readonly id: string; readonly value: string };
  /** The handle in a key of this format; undefined for anything else, also where the checksum is wrong. */
  idOf(value: string): string | undefined;
  /** Whether a key of this format stands somewhere in a text. */
  find(text: string): boolean;
  /** All of them, in their order. */
  all(text: string): readonly string[];
};

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
  const all = (text: string): readonly string[] =>
    [...text.matchAll(anywhere)].map(([value]) => value).filter((value) => idOf(value) !== undefined);

  return {
    prefix,
    generate(random) {
      const id = newAccessKeyId(random);
      const body = `${prefix}_${id}_${base62(random.bytes(SECRET_BYTES), SECRET_LENGTH)}`;
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

/** A public handle. It is no secret and opens nothing. */
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

/** So many digits at a time, so that a remainder and two bytes more are an exact number. */
const DIGITS_AT_ONCE = 5;
const DIVISOR = 62 ** DIGITS_AT_ONCE;

/** The last `length` digits of an even number of bytes, by long division: a BigInt would be a new one for each digit. */
function base62(bytes: Uint8Array, length: number): string {
  const rest = Array.from(
    { length: bytes.length / 2 },
    (_, at) => (bytes[at * 2] ?? 0) * 256 + (bytes[at * 2 + 1] ?? 0),
  );
  const digits = Buffer.allocUnsafe(length);
  for (let to = length; to > 0; ) {
    let remainder = 0;
    for (let at = 0; at < rest.length; at++) {
      const part = remainder * 65_536 + (rest[at] ?? 0);
      rest[at] = Math.floor(part / DIVISOR);
      remainder = part % DIVISOR;
    }
    for (let at = 0; at < DIGITS_AT_ONCE && to > 0; at++) {
      digits[--to] = BASE62.charCodeAt(remainder % 62);
      remainder = Math.floor(remainder / 62);
    }
  }
  return digits.toString("latin1");
}
