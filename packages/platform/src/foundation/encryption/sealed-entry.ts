// An encrypted value in the store: the id of its key, then the object under AES-256-GCM, bound to its place in the store.

import type { Random } from "@postern/apiserver/runtime/clock";
import { openBytes, sealBytes } from "./aes-gcm.ts";
import type { KeyRing } from "./key-ring.ts";

/** No JSON begins with it. */
const MAGIC = "postern:aes256gcm:v1:";
const ID_LENGTH = 8;
const HEAD_LENGTH = MAGIC.length + ID_LENGTH + 1;

const ROOT = "/registry/";
/** Secrets of the management API and of every embedded virtual cluster: this stands behind the name of the one or the other. */
const SECRETS = "/core/secrets/";

/** Whether values under a key of the store are sealed as a whole. */
export function isSealedPlace(key: string): boolean {
  const nameEnd = key.indexOf("/", ROOT.length);
  return nameEnd > ROOT.length && key.startsWith(SECRETS, nameEnd) && key.startsWith(ROOT);
}

/** The id of the key that a value is under; undefined for a value that is not sealed. */
export function sealedUnder(value: Uint8Array): string | undefined {
  if (value[0] !== MAGIC.charCodeAt(0) || value.length < HEAD_LENGTH) return undefined;
  const head = Buffer.from(value.buffer, value.byteOffset, HEAD_LENGTH).toString("latin1");
  return head.startsWith(MAGIC) && head.endsWith(":") ? head.slice(MAGIC.length, -1) : undefined;
}

/** Under the primary key. `key` is where it will be. */
export function sealEntry(ring: KeyRing, key: string, value: Uint8Array, random: Random): Uint8Array {
  const [{ id, values }] = ring.keys;
  const head = `${MAGIC}${id}:`;
  return Buffer.concat([Buffer.from(head, "latin1"), sealBytes(values, value, head + key, random)]);
}

type OpenedValue = { readonly value: Uint8Array } | { readonly fault: string };

/** A value that is not sealed is given as it is: it is from before values were. */
export function openEntry(ring: KeyRing, key: string, value: Uint8Array): OpenedValue {
  const id = sealedUnder(value);
  if (id === undefined) return { value };
  const ringKey = ring.find(id);
  if (ringKey === undefined) return { fault: `its key ${id} is not on the key ring` };
  const opened = openBytes(ringKey.values, value.subarray(HEAD_LENGTH), `${MAGIC}${id}:${key}`);
  return opened === undefined
    ? { fault: "it was changed, or moved here from another place, by something other than Postern" }
    : { value: opened };
}
