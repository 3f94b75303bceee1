// Threads that serve requests end at random, once a second where one runs: clients see one register per object, and nothing is accepted after the answer that ended it.
// CRASH_HTTP_OPERATIONS and REVOCATIONS say how many operations and how many ends of each kind, TEST_SEED repeats a run as far as the scheduler allows.

import { readFile } from "node:fs/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { describe, expect, it } from "vitest";
import { metric } from "../attacks/testing/threads/clusters.ts";
import { NODE_WITH_THREADS, WHY_NO_THREADS } from "../e2e/testing/front-threads.ts";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
import { startOwnServer } from "../e2e/testing/own-server.ts";
import { ENDED_THREADS, type PosternProcess } from "../e2e/testing/postern-process.ts";
import { apiClient } from "./testing/api-client.ts";
import { expectLinearizable } from "./testing/expect-linearizable.ts";
import { objectRegister } from "./testing/object-register.ts";
import { recordHistory } from "./testing/record-history.ts";
import { REVOCATION_KINDS } from "./testing/revocation-kinds.ts";
import { playRound } from "./testing/revocation-round.ts";
import { createRevocationTally } from "./testing/revocation-tally.ts";

const OPERATIONS = Number(process.env["CRASH_HTTP_OPERATIONS"] ?? 1_000);
const REVOCATIONS = Number(process.env["REVOCATIONS"] ?? 3);
const seed = Number(process.env["TEST_SEED"]);
const PAUSE_MS = 1_000;
const MANY_FROM_ONE_ADDRESS = ["--failed-logins-per-minute", "0", "--connections-share-percent", "100"];
const TIMEOUT_MS = 600_000;

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

type Attacked = { readonly server: PosternProcess; readonly key: string };

/** Threads end from the beginning to the end of the work. */
async function onThreads(
  { threads, store }: { readonly threads: number; readonly store: readonly string[] },
  work: (attacked: Attacked) => Promise<void>,
): Promise<void> {
  await using server = await startOwnServer(["--threads", String(threads), ...store, ...MANY_FROM_ONE_ADDRESS], {
    env: { NODE_OPTIONS: `--import=${ENDED_THREADS}`, ENDED_THREADS: "front-" },
    node: NODE_WITH_THREADS ?? "",
  });
  const [send, key] = [await httpClient(server), await adminKey(server)];
  let isOver = false;
  const ending = (async () => {
    while (!isOver) {
      process.kill(server.pid, "SIGUSR2");
      await pause(PAUSE_MS);
    }
  })();
  try {
    await work({ server, key });
  } finally {
    isOver = true;
    await ending;
  }
  const crashed = await metric(send, key, "postern_front_restarts_total", "crashed");
  process.stdout.write(`${crashed} threads ended\n`);
  // One that ends again and again is started again later and later.
  expect(crashed).toBeGreaterThan(0);
}

async function expectRegisters({ server, key }: Attacked): Promise<void> {
  using client = apiClient(server.url, await readFile(server.caFile, "utf8"));
  const register = objectRegister(client, key);
  const history = await recordHistory({
    stores: () => [register],
    clients: 10,
    keys: 6,
    operations: OPERATIONS,
    next: randomNumbers(seed),
    afterOutage: () => pause(50),
  });
  process.stdout.write(`${JSON.stringify(history.counts)}\n`);
  expectLinearizable(history, OPERATIONS / 4);
}

async function expectRevocations({ server, key }: Attacked): Promise<void> {
  const ca = await readFile(server.caFile, "utf8");
  // Two pools of connections, which the kernel shares out among the threads.
  using near = apiClient(server.url, ca);
  using far = apiClient(server.url, ca);
  const tally = createRevocationTally();
  const wanted = REVOCATION_KINDS.map((kind) => [kind, REVOCATIONS] as const);
  const { ended, leftOut } = await playRound({
    admin: { client: near, key },
    near: { client: near, url: server.url, ca },
    far: { client: far, url: server.url, ca },
    wanted,
    next: randomNumbers(seed),
  });
  for (const each of ended) tally.add(each);
  process.stdout.write(tally.table(REVOCATION_KINDS.map(({ what }) => what)));
  expect(leftOut).toEqual([]);
  expect(ended).toHaveLength(REVOCATION_KINDS.length * REVOCATIONS);
  expect(tally.accepted()).toBe(0);
}

const SQLITE = ["--store", "sqlite"];
const title = `TEST_SEED=${seed}, CRASH_HTTP_OPERATIONS=${OPERATIONS}, REVOCATIONS=${REVOCATIONS}`;

describe.skipIf(NODE_WITH_THREADS === undefined).each([2, 3])(
  `with %i threads on SQLite (${title})`,
  { timeout: TIMEOUT_MS },
  (threads) => {
    it("objects are linearizable while threads end", () => onThreads({ threads, store: SQLITE }, expectRegisters));

    it("nothing is accepted after the answer while threads end", () =>
      onThreads({ threads, store: SQLITE }, expectRevocations));
  },
);

describe.skipIf(NODE_WITH_THREADS === undefined || whyNoEtcd() !== undefined)(
  `with 2 threads on etcd (${title})`,
  { timeout: TIMEOUT_MS },
  () => {
    const onEtcd = async (work: (attacked: Attacked) => Promise<void>): Promise<void> => {
      await using etcd = await startEtcd();
      const store = [
        "--store",
        `etcd://${etcd.endpoints[0]}`,
        "--etcd-new-installation",
        "--etcd-compaction",
        "always",
      ];
      await onThreads({ threads: 2, store }, work);
    };

    it("objects are linearizable while threads end", () => onEtcd(expectRegisters));

    it("nothing is accepted after the answer while threads end", () => onEtcd(expectRevocations));
  },
);
