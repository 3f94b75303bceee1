// Other users of an etcd: their history is not compacted, and no server is installed beside others by mistake.

import { asStorageCall, type EtcdConnection } from "./etcd-connection.ts";
import { isPermissionDenied } from "./etcd-errors.ts";
import type { EtcdKeys, KeyRange } from "./etcd-keys.ts";

type Place = { readonly connection: EtcdConnection; readonly keys: EtcdKeys };

/** The place has no keys, though the etcd holds others. */
export class EtcdPlaceError extends Error {
  override readonly name = "EtcdPlaceError";
}

export type Neighbour = {
  /** The first part of one of their keys; undefined where it may not be read. */
  readonly example: string | undefined;
};

const FIRST_KEY = Buffer.from([0]);
/** In etcd the end of all keys. */
const NO_END = Buffer.from([0]);
const MAX_EXAMPLE_LENGTH = 60;

/** Others that have keys here; undefined where there are none. Whom etcd does not let look has been given a place among others. */
export async function findNeighbour({ connection, keys }: Place): Promise<Neighbour | undefined> {
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

/** Rejects with EtcdPlaceError where nothing lies under the prefix, and others can be seen in the same etcd. Writes nothing. */
export async function assertInstalledOrAlone({ connection, keys }: Place, prefix: string): Promise<void> {
  if ((await asStorageCall(firstKey(connection, keys.everything))) !== undefined) return;
  const neighbour = await findNeighbour({ connection, keys });
  // Whoever may see this place alone has been given it, and cannot have mistaken it for another.
  if (neighbour?.example === undefined) return;
  throw new EtcdPlaceError(
    `etcd has no keys below ${JSON.stringify(prefix)}, but keys of other applications, such as below ${JSON.stringify(neighbour.example)}`,
  );
}

async function firstKey(connection: EtcdConnection, range: KeyRange): Promise<Uint8Array | undefined> {
  const request = { ...range, limit: 1, keys_only: true };
  const { kvs } = await connection.call(connection.methods.range, request, { repeatable: true });
  return kvs?.[0]?.key;
}

/** Names of objects of others are not for an error text. */
function firstPart(key: Uint8Array): string {
  const [part = ""] = /^\/?[^/]*/.exec(Buffer.from(key).toString("utf8")) ?? [];
  return part.slice(0, MAX_EXAMPLE_LENGTH);
}
