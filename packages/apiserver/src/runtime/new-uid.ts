// Identifiers that occur once: UIDs of objects, and audit IDs of requests.

import type { Random } from "./clock.ts";

/** A random UUID. Source: RFC 9562, version 4 */
export const newUid = (random: Random): string => random.uuid?.() ?? uuidOf(random.bytes(16));

function uuidOf(bytes: Uint8Array): string {
  const marked = Buffer.from(bytes);
  marked[6] = ((marked[6] ?? 0) & 0x0f) | 0x40;
  marked[8] = ((marked[8] ?? 0) & 0x3f) | 0x80;
  const hex = marked.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
