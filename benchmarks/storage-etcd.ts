// The overhead of the etcd store: its reads and writes compared to the same bare transactions in the same run.
// Needs the program etcd. Usage: npx tsx benchmarks/storage-etcd.ts [seconds per measurement]

import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { type Measurement, measure, printRounds } from "./storage-measure.ts";

const VALUE = Buffer.alloc(1_200, "x");
const ROUNDS = 3;
const IN_FLIGHT = 64;

const [secondsText = "2"] = process.argv.slice(2);
const seconds = Number(secondsText);
const etcd = await startEtcd();
const storage = await openEtcdStorage({ endpoints: etcd.endpoints });
const { connection } = storage;
let serial = 0;
const nextKey = () => `/registry/bench/core/things/${serial++}`;

async function bareTransaction(): Promise<void> {
  const key = Buffer.from(`/bare${nextKey()}`);
  await connection.call(
    connection.methods.txn,
    {
      compare: [{ target: "MOD", key, mod_revision: 0 }],
      success: [{ request_put: { key, value: VALUE } }],
      failure: [{ request_range: { key } }],
    },
    { repeatable: false },
  );
}

async function round(): Promise<Measurement[]> {
  const known = nextKey();
  await storage.create(known, VALUE);
  const results = [
    await measure("bare transaction", IN_FLIGHT, seconds, bareTransaction),
    await measure("bare transaction", 1, seconds, bareTransaction),
    await measure("create", 1, seconds, () => storage.create(nextKey(), VALUE)),
    await measure("create", IN_FLIGHT, seconds, () => storage.create(nextKey(), VALUE)),
  ];
  // With a watch, writes wait until the watch was notified.
  let events = 0;
  const watch = storage.watch("/", await storage.currentRevision(), {
    events: (told) => {
      events += told.length;
    },
    error: (error) => console.error(error),
  });
  results.push(await measure("create, watched", IN_FLIGHT, seconds, () => storage.create(nextKey(), VALUE)));
  watch[Symbol.dispose]();
  if (events === 0) throw new Error("the watch has told nothing");
  results.push(
    await measure("get", IN_FLIGHT, seconds, () => storage.get(known)),
    await measure("current revision", IN_FLIGHT, seconds, () => storage.currentRevision()),
    await measure("list of 500", 1, seconds, () => storage.list("/registry/", { limit: 500 })),
  );
  return results;
}

try {
  const rounds: Measurement[][] = [];
  for (let count = 0; count < ROUNDS; count++) rounds.push(await round());
  printRounds(rounds);
} finally {
  await storage[Symbol.asyncDispose]();
  await etcd[Symbol.asyncDispose]();
}
