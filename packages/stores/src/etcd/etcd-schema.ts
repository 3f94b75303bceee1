// The schema version of the data below one prefix of etcd. Releases refuse versions that they do not know.

import type { Revision } from "@postern/apiserver/storage/storage";
import { StoreVersionError, StoreWriteRefusedError } from "../store-errors.ts";
import { asStorageCall, type EtcdConnection } from "./etcd-connection.ts";
import { isPermissionDenied } from "./etcd-errors.ts";
import type { EtcdKeys } from "./etcd-keys.ts";

/** Like SQLite: version 1 has no mark, and from version 2 on values may be encrypted. */
const SCHEMA_VERSION = 2;

type Place = { readonly connection: EtcdConnection; readonly keys: EtcdKeys };

/** The version, and the revision of its key; 0 without one. Rejects with StoreVersionError if a newer release wrote it. */
export async function readEtcdSchema({
  connection,
  keys: { schema: key },
}: Place): Promise<{ readonly version: number; readonly revision: Revision }> {
  const { kvs } = await connection.call(connection.methods.range, { key }, { repeatable: true });
  const mark = kvs?.[0];
  const version = mark === undefined ? 1 : Number(Buffer.from(mark.value ?? []).toString());
  if (version <= SCHEMA_VERSION) return { version, revision: mark?.mod_revision ?? 0 };
  throw new StoreVersionError(
    `the data in etcd has schema version ${version}, this release knows up to ${SCHEMA_VERSION}: start the release that wrote it, or newer`,
  );
}

/**
 * Writes the newest version. Rejects like readEtcdSchema, with StoreWriteRefusedError, and with StorageUnavailableError,
 * without a change.
 */
export async function migrateEtcd({ connection, keys }: Place): Promise<void> {
  const value = Buffer.from(String(SCHEMA_VERSION));
  for (;;) {
    const { version, revision } = await readEtcdSchema({ connection, keys });
    if (version === SCHEMA_VERSION) return;
    // Another server may do the same concurrently.
    const marking = connection.call(
      connection.methods.txn,
      {
        compare: [{ target: "MOD", key: keys.schema, mod_revision: revision }],
        success: [{ request_put: { key: keys.schema, value } }],
      },
      { repeatable: true },
    );
    await asStorageCall(marking.catch(explainRefusal(keys)));
  }
}

const explainRefusal =
  (keys: EtcdKeys) =>
  (error: unknown): never => {
    if (!isPermissionDenied(error)) throw error;
    const [from, to] = [keys.everything.key, keys.everything.range_end].map((key) => Buffer.from(key).toString());
    throw new StoreWriteRefusedError(`etcd does not allow its user to write the keys from ${from} to ${to}`, {
      cause: error,
    });
  };
