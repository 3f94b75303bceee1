// Everything that lies under a prefix of etcd, the marks of the server among it, as a file that another etcd is filled with.

import { gunzipSync, gzipSync } from "node:zlib";
import { EtcdConnection } from "@postern/stores/etcd/etcd-connection";
import { EtcdKeys } from "@postern/stores/etcd/etcd-keys";
import { systemScheduler } from "@postern/stores/etcd/etcd-timers";

/** The prefix that servers have by default. */
const keys = new EtcdKeys("/postern");
const connect = (endpoints: readonly string[]) =>
  new EtcdConnection({ endpoints, requestTimeoutMs: 10_000, scheduler: systemScheduler });

const base64 = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("base64");

export async function dumpEtcd(endpoints: readonly string[]): Promise<Buffer> {
  using connection = connect(endpoints);
  const { kvs = [] } = await connection.call(connection.methods.range, keys.everything, { repeatable: true });
  const entries = kvs.map(({ key, value }) => [base64(key), base64(value)]);
  return gzipSync(JSON.stringify(entries), { level: 9 });
}

export async function loadEtcd(endpoints: readonly string[], dump: Uint8Array): Promise<void> {
  using connection = connect(endpoints);
  const entries: readonly (readonly [string, string])[] = JSON.parse(gunzipSync(dump).toString());
  for (const [key, value] of entries) {
    const put = { request_put: { key: Buffer.from(key, "base64"), value: Buffer.from(value, "base64") } };
    await connection.call(connection.methods.txn, { compare: [], success: [put] }, { repeatable: true });
  }
}

/** The format of what lies there, as the server marks it; 1: it has no mark. */
export async function etcdFormat(endpoints: readonly string[]): Promise<number> {
  using connection = connect(endpoints);
  const { kvs } = await connection.call(connection.methods.range, { key: keys.schema }, { repeatable: true });
  return kvs?.[0] === undefined ? 1 : Number(Buffer.from(kvs[0].value ?? []).toString());
}

/** As it stands in the head of the file: https://www.sqlite.org/fileformat.html section 1.3. */
export const sqliteFormat = (file: Buffer): number => file.readUInt32BE(60);
