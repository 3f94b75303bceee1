// Cluster threads that end at random, 20 a minute: clients of their clusters see one register per object, and nothing is accepted after the answer that
// ended it.
// CRASH_HTTP_OPERATIONS and REVOCATIONS say how many operations and how many ends of each kind, TEST_SEED repeats a run as far as the scheduler allows.

import { readFile } from "node:fs/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { describe, expect, it } from "vitest";
import { metric } from "../attacks/testing/threads/clusters.ts";
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

const SECRETS = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/default/secrets";
const OPERATIONS = Number(process.env["CRASH_HTTP_OPERATIONS"] ?? 1_000);
const REVOCATIONS = Number(process.env["REVOCATIONS"] ?? 5);
const seed = Number(process.env["TEST_SEED"]);
const PAUSE_MS = 3_000;
/** Kinds that are asked inside a cluster, or lead there. */
const INSIDE = /inside a cluster|parent|certificate/;
const KINDS = REVOCATION_KINDS.filter(({ what }) => INSIDE.test(what));
const MANY_FROM_ONE_ADDRESS = ["--failed-logins-per-minute", "0", "--connections-share-percent", "100"];
const TIMEOUT_MS = 600_000;

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

type Attacked = { readonly server: PosternProcess; readonly key: string };

/** Threads end from the beginning to the end of the work. */
async function whileThreadsEnd(threads: number, work: (attacked: Attacked) => Promise<void>): Promise<void> {
  await using server = await startOwnServer(
    ["--cluster-threads", String(threads), "--store", "sqlite", ...MANY_FROM_ONE_ADDRESS],
    { env: { NODE_OPTIONS: `--import=${ENDED_THREADS}` } },
  );
  const [send, key] = [await httpClient(server), await adminKey(server)];
  let isOver = false;
  let ended = 0;
  const ending = (async () => {
    while (!isOver) {
      process.kill(server.pid, "SIGUSR2");
      ended++;
      await pause(PAUSE_MS);
    }
  })();
  try {
    await work({ server, key });
  } finally {
    isOver = true;
    await ending;
  }
  const crashed = await metric(send, key, "postern_thread_restarts_total", "crashed");
  process.stdout.write(`${crashed} threads ended\n`);
  expect(crashed).toBeGreaterThan(ended / 2);
}

describe.each([1, 2])(`with %i cluster threads (TEST_SEED=${seed})`, { timeout: TIMEOUT_MS }, (threads) => {
  it(`objects of a cluster are linearizable (CRASH_HTTP_OPERATIONS=${OPERATIONS})`, () =>
    whileThreadsEnd(threads, async ({ server, key }) => {
      using client = apiClient(server.url, await readFile(server.caFile, "utf8"));
      const register = objectRegister(client, key, SECRETS);
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
    }));

  it(`nothing is accepted after the answer (REVOCATIONS=${REVOCATIONS})`, () =>
    whileThreadsEnd(threads, async ({ server, key }) => {
      const ca = await readFile(server.caFile, "utf8");
      using client = apiClient(server.url, ca);
      const asked = { client, url: server.url, ca };
      const tally = createRevocationTally();
      const wanted = KINDS.map((kind) => [kind, REVOCATIONS] as const);
      const admin = { client, key };
      const { ended, leftOut } = await playRound({ admin, near: asked, far: asked, wanted, next: randomNumbers(seed) });
      for (const each of ended) tally.add(each);
      process.stdout.write(tally.table(KINDS.map(({ what }) => what)));
      expect(leftOut).toEqual([]);
      expect(ended).toHaveLength(KINDS.length * REVOCATIONS);
      expect(tally.accepted()).toBe(0);
    }));
});
