// The cost of a durable write to etcd by itself, and as one of many nested transactions in one transaction, each with its own comparison and
// result (ADR 63): processor time of client and etcd per write.
// Usage: npx tsx --conditions=@postern/source benchmarks/etcd-transactions.ts [--writes 6400] [--rounds 3]

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { GrpcChannel, type GrpcMethod } from "@postern/stores/etcd/grpc/grpc-channel";
import { ETCD_PROTOCOL } from "@postern/stores/etcd/protocol/etcd-protocol";
import { startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import protobuf from "protobufjs";
import { median } from "./report/median.ts";
import { renderTable } from "./report/render-table.ts";

const { values: options } = parseArgs({
  options: { writes: { type: "string", default: "6400" }, rounds: { type: "string", default: "3" } },
});
const [writes, rounds] = [Number(options.writes), Number(options.rounds)];
const IN_FLIGHT = 64;
const TIMEOUT_MS = 60_000;
const VALUE = Buffer.alloc(1_200, "x");

type Txn = { readonly responses?: readonly { readonly response_txn?: Txn }[]; readonly succeeded?: boolean };

const { root } = protobuf.parse(
  ETCD_PROTOCOL.replace(
    "request_delete_range = 3;",
    "request_delete_range = 3;\n    TxnRequest request_txn = 4;",
  ).replace(
    "RangeResponse response_range = 1;",
    "RangeResponse response_range = 1;\n    TxnResponse response_txn = 4;",
  ),
  { keepCase: true },
);
const [request, response] = [root.lookupType("etcdserverpb.TxnRequest"), root.lookupType("etcdserverpb.TxnResponse")];
const txn: GrpcMethod<object, Txn> = {
  path: "/etcdserverpb.KV/Txn",
  serialize: (message) => request.encode(request.fromObject(message)).finish(),
  deserialize: (bytes) => response.toObject(response.decode(bytes), { longs: Number, enums: String }) as Txn,
};

let number = 0;
function create(): object {
  const key = Buffer.from(`/bench/${number++}`);
  return {
    compare: [{ target: "MOD", key, mod_revision: 0 }],
    success: [{ request_put: { key, value: VALUE } }],
    failure: [{ request_range: { key } }],
  };
}

await using etcd = await startEtcd();
/** The etcd that this process started. */
const etcdPid = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8")
  .trim()
  .split(" ")
  .find((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "etcd");
using channel = new GrpcChannel({ address: etcd.endpoints[0] ?? "" });

/** `count` writes in one call. */
async function write(count: number): Promise<void> {
  const message =
    count === 1 ? create() : { success: Array.from({ length: count }, () => ({ request_txn: create() })) };
  const answer = await channel.call(txn, message, TIMEOUT_MS);
  const results = count === 1 ? [answer] : (answer.responses ?? []).map(({ response_txn }) => response_txn);
  const written = results.filter((result) => result?.succeeded === true).length;
  if (written !== count) throw new Error(`${written} of ${count} were written`);
}

async function measure(
  inOne: number,
): Promise<{ readonly client: number; readonly etcd: number; readonly perSecond: number }> {
  let left = writes / inOne;
  const before = { client: process.cpuUsage(), etcd: cpuMicroseconds(), at: performance.now() };
  const lane = async (): Promise<void> => {
    while (left-- > 0) await write(inOne);
  };
  // As many writes are pending as there are clients: with more writes per call there are fewer calls.
  await Promise.all(Array.from({ length: Math.max(1, IN_FLIGHT / inOne) }, lane));
  const used = process.cpuUsage(before.client);
  return {
    client: (used.user + used.system) / writes,
    etcd: (cpuMicroseconds() - before.etcd) / writes,
    perSecond: (writes / (performance.now() - before.at)) * 1000,
  };
}

/** Of all threads so far. */
function cpuMicroseconds(): number {
  const fields = readFileSync(`/proc/${etcdPid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  // utime and stime, in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

const sizes = [1, 4, 16, 64];
const measured = new Map(sizes.map((size) => [size, [] as Awaited<ReturnType<typeof measure>>[]]));
for (let round = -1; round < rounds; round++) {
  for (const size of sizes) {
    const result = await measure(size);
    if (round >= 0) measured.get(size)?.push(result);
  }
}
const rows = sizes.map((size) => {
  const results = measured.get(size) ?? [];
  return {
    "writes in a call": String(size),
    "client, µs": median(results.map(({ client }) => client)).toFixed(1),
    "etcd, µs": median(results.map(({ etcd: used }) => used)).toFixed(1),
    "per second": median(results.map(({ perSecond }) => perSecond)).toFixed(0),
  };
});
process.stdout.write(`${renderTable(rows)}\n`);
