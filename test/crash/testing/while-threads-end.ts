// A server whose threads end at random while clients work with it, and what clients see meanwhile.

import { readFile } from "node:fs/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { expect } from "vitest";
import { metric } from "../../attacks/testing/threads/clusters.ts";
import { adminKey, httpClient } from "../../e2e/testing/http-client.ts";
import { startOwnServer } from "../../e2e/testing/own-server.ts";
import { ENDED_THREADS, type PosternProcess, type PosternSurroundings } from "../../e2e/testing/postern-process.ts";
import { apiClient } from "./api-client.ts";
import { expectLinearizable } from "./expect-linearizable.ts";
import { objectRegister } from "./object-register.ts";
import { recordHistory } from "./record-history.ts";
import type { REVOCATION_KINDS } from "./revocation-kinds.ts";
import { playRound } from "./revocation-round.ts";
import { createRevocationTally } from "./revocation-tally.ts";

const MANY_FROM_ONE_ADDRESS = ["--failed-logins-per-minute", "0", "--connections-share-percent", "100"];
const OPERATIONS = Number(process.env["CRASH_HTTP_OPERATIONS"] ?? 1_000);
const seed = Number(process.env["TEST_SEED"]);

export type Attacked = { readonly server: PosternProcess; readonly key: string };

type Ending = {
  readonly flags: readonly string[];
  readonly surroundings?: PosternSurroundings;
  readonly pauseMs: number;
};

/** Of threads of virtual clusters, and of those that serve requests: with THREADS_END a signal ends one of either. */
const RESTARTS = ["postern_thread_restarts_total", "postern_front_restarts_total"];

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Threads end from the beginning to the end of the work. Returns how many were to end, and how many were started again. */
export async function whileThreadsEnd(
  { flags, surroundings, pauseMs }: Ending,
  work: (attacked: Attacked) => Promise<void>,
): Promise<{ readonly ended: number; readonly crashed: number }> {
  await using server = await startOwnServer([...flags, ...MANY_FROM_ONE_ADDRESS], {
    ...surroundings,
    env: { NODE_OPTIONS: `--import=${ENDED_THREADS}`, ...surroundings?.env },
  });
  const [send, key] = [await httpClient(server), await adminKey(server)];
  let isOver = false;
  let ended = 0;
  const ending = (async () => {
    while (!isOver) {
      process.kill(server.pid, "SIGUSR2");
      ended++;
      await pause(pauseMs);
    }
  })();
  try {
    await work({ server, key });
  } finally {
    isOver = true;
    await ending;
  }
  const restarts = await Promise.all(RESTARTS.map((name) => metric(send, key, name, "crashed")));
  const crashed = restarts.reduce((sum, count) => sum + count, 0);
  process.stdout.write(`${crashed} threads ended\n`);
  return { ended, crashed };
}

/** Clients see one register per object. `path`: of a resource; default: one of the management API. */
export async function expectRegisters({ server, key }: Attacked, path?: string): Promise<void> {
  using client = apiClient(server.url, await readFile(server.caFile, "utf8"));
  const register = objectRegister(client, key, path);
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

/** Nothing is accepted after the answer that ended it, `count` times for each kind. */
export async function expectRevocations(
  { server, key }: Attacked,
  kinds: typeof REVOCATION_KINDS,
  count: number,
): Promise<void> {
  const ca = await readFile(server.caFile, "utf8");
  // Two pools of connections, which the kernel shares out among the threads.
  using near = apiClient(server.url, ca);
  using far = apiClient(server.url, ca);
  const tally = createRevocationTally();
  const { ended, leftOut } = await playRound({
    admin: { client: near, key },
    near: { client: near, url: server.url, ca },
    far: { client: far, url: server.url, ca },
    wanted: kinds.map((kind) => [kind, count] as const),
    next: randomNumbers(seed),
  });
  for (const each of ended) tally.add(each);
  process.stdout.write(tally.table(kinds.map(({ what }) => what)));
  expect(leftOut).toEqual([]);
  expect(ended).toHaveLength(kinds.length * count);
  expect(tally.accepted()).toBe(0);
}
