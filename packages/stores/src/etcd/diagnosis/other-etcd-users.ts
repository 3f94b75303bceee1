// Detects other users of an etcd: their history must not be compacted, and a server must not be installed beside them by mistake.

import { asStorageCall, type EtcdConnection } from "../etcd-connection.ts";
import { isPermissionDenied } from "../etcd-errors.ts";
import type { EtcdKeys, KeyRange } from "../etcd-keys.ts";

type Place = { readonly connection: EtcdConnection; readonly keys: EtcdKeys };

/** There are no keys below the prefix, although the etcd has others. */
export class EtcdPrefixError extends Error {
  override readonly name = "EtcdPrefixError";
}

export type OtherUser = {
  /** The first part of one of their keys; undefined if it may not be read. */
  readonly example: string | undefined;
};

const FIRST_KEY = Buffer.from([0]);
/** In etcd, the end of all keys. */
const NO_END = Buffer.from([0]);
const MAX_EXAMPLE_LENGTH = 60;

/** Other users with keys in this etcd; undefined without any. A user whom etcd refuses other keys shares the etcd with others. */
export async function findOtherUser({ connection, keys }: Place): Promise<OtherUser | undefined> {
  const { key: own, range_end: end } = keys.everything;
  const ranges: readonly KeyRange[] = [
    { key: FIRST_KEY, range_end: own },
    { key: end, range_end: NO_END },
  ];
  try {
    for (const range of ranges) {
      const found = await firstKey(connection, range);
      if (found !== undefined) return { example: firstPart(found) };
    }
    return undefined;
  } catch (error) {
    if (isPermissionDenied(error)) return { example: undefined };
    return asStorageCall(Promise.reject(error));
  }
}

/** Rejects with EtcdPrefixError if there are no keys below the prefix, but visible keys of others in the same etcd. Writes nothing. */
export async function assertInstalledOrAlone({ connection, keys }: Place, prefix: string): Promise<void> {
  if ((await asStorageCall(firstKey(connection, keys.everything))) !== undefined) return;
  const otherUser = await findOtherUser({ connection, keys });
  // A user who may only read its own prefix was given that prefix, and cannot have mistyped it.
  if (otherUser?.example === undefined) return;
  throw new EtcdPrefixError(
    `etcd has no keys below ${JSON.stringify(prefix)}, but keys of other applications, such as below ${JSON.stringify(otherUser.example)}`,
  );
}

async function firstKey(connection: EtcdConnection, range: KeyRange): Promise<Uint8Array | undefined> {
  const request = { ...range, limit: 1, keys_only: true };
  const { kvs } = await connection.call(connection.methods.range, request, { repeatable: true });
  return kvs?.[0]?.key;
}

/** Error messages must not contain the names of others' objects. */
function firstPart(key: Uint8Array): string {
  const [part = ""] = /^\/?[^/]*/.exec(Buffer.from(key).toString("utf8")) ?? [];
  return part.slice(0, MAX_EXAMPLE_LENGTH);
}
