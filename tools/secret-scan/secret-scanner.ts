// Searches for many thousands of byte sequences in one pass (rolling hash of Rabin and Karp).

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { PART_LENGTH, patternsOf, type Secret } from "./secret-shapes.ts";

/** Modules that Vitest or tsx transforms read an imported name on each use, which would take a third of the time. */
const WINDOW = PART_LENGTH;

export type SecretScanner = {
  /** The secrets in the bytes. */
  scan(bytes: Uint8Array): ReadonlySet<Secret>;
  /** Like `scan`, for a file of any size, with constant memory. */
  scanFile(path: string): ReadonlySet<Secret>;
  readonly patterns: number;
};

type Pattern = { readonly bytes: Buffer; readonly secret: Secret };

const BASE = 0x01000193;
/** The factor of the byte that leaves the window. */
const LEAVING = power(BASE, WINDOW);
const CHUNK_BYTES = 8 << 20;
/** Bits of the filter per pattern, each of which sets two, so that hardly any other content is compared. */
const BITS_PER_PATTERN = 32;

/** Every pattern is found by the hash of its last `WINDOW` bytes. */
export function createSecretScanner(secrets: readonly Secret[]): SecretScanner {
  const patterns = secrets.flatMap((secret) => patternsOf(secret).map((bytes) => ({ bytes, secret })));
  const filter = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(1024, (patterns.length * BITS_PER_PATTERN) / 32))));
  const byHash = new Map<number, Pattern[]>();
  for (const pattern of patterns) {
    const hash = hashOf(pattern.bytes.subarray(-WINDOW));
    byHash.set(hash, [...(byHash.get(hash) ?? []), pattern]);
    const word = wordOf(hash, filter.length - 1);
    filter[word] = Number(filter[word]) | bitsOf(hash);
  }
  const overlap = patterns.reduce((longest, { bytes }) => Math.max(longest, bytes.length), WINDOW) - 1;

  function scanInto(found: Set<Secret>, bytes: Uint8Array): void {
    for (let end = nextCandidate(bytes, 0, filter); end > 0; end = nextCandidate(bytes, end - WINDOW + 1, filter)) {
      for (const pattern of byHash.get(hashOf(bytes.subarray(end - WINDOW, end))) ?? []) {
        if (endsAt(bytes, end, pattern.bytes)) found.add(pattern.secret);
      }
    }
  }

  return {
    patterns: patterns.length,
    scan(bytes) {
      const found = new Set<Secret>();
      scanInto(found, bytes);
      return found;
    },
    scanFile(path) {
      const found = new Set<Secret>();
      const file = openSync(path, "r");
      try {
        // Most files are small, and there are thousands: a buffer of full size for each costs more than the scan.
        const chunkBytes = Math.min(CHUNK_BYTES, fstatSync(file).size + 1);
        const buffer = Buffer.allocUnsafe(chunkBytes + overlap);
        let kept = 0;
        for (;;) {
          const read = readSync(file, buffer, kept, chunkBytes, null);
          if (read === 0) return found;
          const end = kept + read;
          scanInto(found, buffer.subarray(0, end));
          kept = Math.min(overlap, end);
          buffer.copyWithin(0, end - kept, end);
        }
      } finally {
        closeSync(file);
      }
    },
  };
}

/** The end of the first window from `from` on that passes the filter; 0 if there is none. A separate function, so that it is optimised well. */
function nextCandidate(bytes: Uint8Array, from: number, filter: Int32Array): number {
  const { length } = bytes;
  const mask = filter.length - 1;
  if (length - from < WINDOW) return 0;
  let hash = hashOf(bytes.subarray(from, from + WINDOW - 1));
  let leaving = 0;
  for (let at = from + WINDOW - 1; at < length; at++) {
    hash = (Math.imul(hash, BASE) + Number(bytes[at]) + 1 - leaving) | 0;
    const bits = bitsOf(hash);
    if ((Number(filter[wordOf(hash, mask)]) & bits) === bits) return at + 1;
    leaving = Math.imul(Number(bytes[at - WINDOW + 1]) + 1, LEAVING);
  }
  return 0;
}

/** Every byte counts as one more, so that leading zeros change the hash, too. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0;
  for (const byte of bytes) hash = (Math.imul(hash, BASE) + byte + 1) | 0;
  return hash;
}

/** The position and the two bits of a hash in the filter, from different bits of the hash. */
const wordOf = (hash: number, mask: number): number => (hash ^ (hash >>> 15)) & mask;
const bitsOf = (hash: number): number => (1 << (hash >>> 27)) | (1 << ((hash >>> 22) & 31));

function power(base: number, exponent: number): number {
  let product = 1;
  for (let times = 0; times < exponent; times++) product = Math.imul(product, base);
  return product;
}

function endsAt(bytes: Uint8Array, end: number, pattern: Uint8Array): boolean {
  const start = end - pattern.length;
  if (start < 0) return false;
  for (let at = 0; at < pattern.length; at++) {
    if (bytes[start + at] !== pattern[at]) return false;
  }
  return true;
}
