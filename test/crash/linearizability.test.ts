// Concurrent clients see one register per key, whatever fails underneath: SQLite closed and opened again in the middle of their work,
// three members of etcd of which one after the other stands still or dies, under two stores.
// CRASH_OPERATIONS says how many operations each run takes, TEST_SEED repeats a run as far as the scheduler allows.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Storage } from "@postern/apiserver/storage/storage";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { type EtcdStorage, openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { type EtcdMember, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { test } from "vitest";
import { everyCase } from "../../tools/test-cost/by-night.ts";
import { expectLinearizable } from "./testing/expect-linearizable.ts";
import { recordHistory } from "./testing/record-history.ts";

const OPERATIONS = Number(process.env["CRASH_OPERATIONS"] ?? (everyCase ? 1_500 : 750));
const seed = Number(process.env["TEST_SEED"]);
const named = `(TEST_SEED=${seed}, CRASH_OPERATIONS=${OPERATIONS})`;
const CLIENTS = 10;
const KEYS = 6;

test(`SQLite is linearizable, also when it is closed and opened again under its clients ${named}`, async () => {
  const next = randomNumbers(seed);
  const folder = await mkdtemp(join(tmpdir(), "postern-linear-"));
  const path = join(folder, "store.db");
  let storage: Storage = await openSqliteStorage({ path });
  let reopening: Promise<void> | undefined;
  const reopen = async () => {
    await storage[Symbol.asyncDispose]();
    storage = await openSqliteStorage({ path });
    reopening = undefined;
  };
  let due = 1 + next(1_000);
  const history = await recordHistory({
    stores: () => [storage],
    clients: CLIENTS,
    keys: KEYS,
    operations: OPERATIONS,
    next,
    afterOutage: async () => reopening,
    onOperation: (count) => {
      if (count < due || reopening !== undefined) return;
      due = count + 1 + next(1_000);
      reopening = reopen();
    },
  });
  await reopening;
  await storage[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
  expectLinearizable(history, OPERATIONS / 4);
});

const missing = whyNoEtcd();
test.skipIf(missing !== undefined)(
  `etcd is linearizable through two stores while its members stand still and die ${named}${missing === undefined ? "" : `: ${missing}`}`,
  async () => {
    const next = randomNumbers(seed);
    await using etcd = await startEtcd({ size: 3 });
    const options = { requestTimeoutMs: 2_000 };
    const stores: EtcdStorage[] = [
      await openEtcdStorage({ ...options, endpoints: etcd.endpoints }),
      await openEtcdStorage({ ...options, endpoints: etcd.endpoints.toReversed() }),
    ];
    const faults = randomFaults(etcd.members, next);
    let due = 1 + next(400);
    let running: Promise<void> | undefined;
    const history = await recordHistory({
      stores: () => stores,
      clients: CLIENTS,
      keys: KEYS,
      operations: OPERATIONS,
      next,
      onOperation: (count) => {
        if (count < due || running !== undefined) return;
        due = count + 1 + next(400);
        running = faults().finally(() => {
          running = undefined;
        });
      },
    });
    await running;
    for (const store of stores) await store[Symbol.asyncDispose]();
    expectLinearizable(history, OPERATIONS / 4);
  },
);

/** Each call breaks one member in one way, or mends the one that is broken: there is always a quorum. */
function randomFaults(members: readonly EtcdMember[], next: (bound: number) => number): () => Promise<void> {
  let mend: (() => Promise<void>) | undefined;
  return async () => {
    if (mend !== undefined) {
      const mending = mend;
      mend = undefined;
      return mending();
    }
    const member = members[next(members.length)]!;
    if (next(2) === 0) {
      member.pause();
      mend = async () => member.resume();
    } else {
      await member.kill();
      mend = member.restart;
    }
  };
}
