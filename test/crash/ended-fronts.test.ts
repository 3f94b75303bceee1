// Threads that serve requests end at random, once a second where one runs: clients see one register per object, and nothing is accepted after the answer that ended it.
// CRASH_HTTP_OPERATIONS and REVOCATIONS say how many operations and how many ends of each kind, TEST_SEED repeats a run as far as the scheduler allows.

import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { describe, expect, it } from "vitest";
import { NODE_WITH_THREADS, WHY_NO_THREADS } from "../e2e/testing/front-threads.ts";
import { REVOCATION_KINDS } from "./testing/revocation-kinds.ts";
import {
  type Attacked,
  expectRevocations as expectAnyRevocations,
  expectRegisters,
  whileThreadsEnd,
} from "./testing/while-threads-end.ts";

const REVOCATIONS = Number(process.env["REVOCATIONS"] ?? 3);
const TIMEOUT_MS = 600_000;

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

async function onThreads(
  { threads, store }: { readonly threads: number; readonly store: readonly string[] },
  work: (attacked: Attacked) => Promise<void>,
): Promise<void> {
  const { crashed } = await whileThreadsEnd(
    {
      flags: ["--threads", String(threads), ...store],
      surroundings: { env: { ENDED_THREADS: "front-" }, node: NODE_WITH_THREADS ?? "" },
      pauseMs: 1_000,
    },
    work,
  );
  // One that ends again and again is started again later and later.
  expect(crashed).toBeGreaterThan(0);
}

const expectRevocations = (attacked: Attacked): Promise<void> =>
  expectAnyRevocations(attacked, REVOCATION_KINDS, REVOCATIONS);

const SQLITE = ["--store", "sqlite"];
const { TEST_SEED: seed, CRASH_HTTP_OPERATIONS: operations = "1000" } = process.env;
const title = `TEST_SEED=${seed}, CRASH_HTTP_OPERATIONS=${operations}, REVOCATIONS=${REVOCATIONS}`;

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
