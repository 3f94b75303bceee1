// The audit ID of a request: the same in its response, its log lines and its audit events.

import type { Random } from "../runtime/clock.ts";

/** Identifiers that a client may choose: short, and harmless in headers and logs. */
const ACCEPTABLE = /^[\w.:-]{1,64}$/;
const UUID_BYTES = 16;
const UUIDS_PER_DRAW = 64;

/** Gives the identifier of a request: the client's own where it sent an acceptable one, else a new UUID. */
export function createAuditIds(random: Random): (sent: string) => string {
  let pool: Uint8Array = new Uint8Array(0);
  let at = 0;
  return (sent) => {
    if (ACCEPTABLE.test(sent)) return sent;
    if (at >= pool.length) {
      // Randomness in bulk costs a fraction of the same by the piece.
      pool = random.bytes(UUID_BYTES * UUIDS_PER_DRAW);
      at = 0;
    }
    const bytes = pool.subarray(at, at + UUID_BYTES);
    at += UUID_BYTES;
    return formatUuid(bytes);
  };
}

/** RFC 9562, version 4. */
function formatUuid(bytes: Uint8Array): string {
  const marked = Buffer.from(bytes);
  marked[6] = ((marked[6] ?? 0) & 0x0f) | 0x40;
  marked[8] = ((marked[8] ?? 0) & 0x3f) | 0x80;
  const hex = marked.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
