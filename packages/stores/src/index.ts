// The stores: each implements the storage port of @postern/apiserver.

export { type EtcdStorageOptions, openEtcdStorage } from "./etcd/etcd-storage.ts";
export { openSqliteStorage, type SqliteStorage, type SqliteStorageOptions } from "./sqlite/sqlite-storage.ts";
