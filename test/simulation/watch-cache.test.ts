// Several replicas with their watch caches on one store, over a network that delays, loses and cuts off, with replicas that crash and a
// history that is forgotten under their feet, for hours of virtual time. Checked all the way: no acknowledged write is lost, no watch
// has a gap, a duplicate or goes back in time, revisions only grow, lists are the state of the store at the revision they say, and a
// consistent read shows every write that was acknowledged before it began.
// SIMULATION_HOURS says for how long (the nightly run takes a thousand), TEST_SEED repeats a run exactly.

import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Revision } from "@postern/apiserver/storage/storage";
import {
  FutureRevisionError,
  KeyExistsError,
  RevisionConflictError,
  StorageUnavailableError,
} from "@postern/apiserver/storage/storage-errors";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { expect, test } from "vitest";
import { SimulatedReplica } from "./testing/simulated-replica.ts";
import { SimulatedWatch } from "./testing/simulated-watch.ts";
import { TrueHistory } from "./testing/true-history.ts";
import type { Network } from "./testing/unreliable-storage.ts";
import { VirtualTime } from "./testing/virtual-time.ts";

const HOURS = Number(process.env["SIMULATION_HOURS"] ?? 20);
const seed = Number(process.env["TEST_SEED"]);
const PREFIX = "/registry/main/core/things/";
const OTHER_PREFIX = "/registry/main/core/others/";
const HOUR_MS = 3_600_000;
const KEYS = 20;

/** Errors that a client may receive in normal operation. */
const isExpected = (error: unknown) =>
  error instanceof KeyExistsError ||
  error instanceof RevisionConflictError ||
  error instanceof StorageUnavailableError ||
  error instanceof FutureRevisionError;

test(`replicas agree with the store through all failures (TEST_SEED=${seed}, SIMULATION_HOURS=${HOURS})`, async () => {
  const next = randomNumbers(seed);
  const time = new VirtualTime();
  const network: Network = { time, next, lossRate: 50, maxDelayMs: 400 };
  const store = createMemoryStorage();
  const history = new TrueHistory(store);
  const options = { store, network, history, prefix: PREFIX };
  const replicas = Array.from({ length: 3 }, () => new SimulatedReplica(options));
  const anyReplica = () => replicas[next(replicas.length)]!;
  const watches = Array.from({ length: 6 }, (_, index) => {
    const prefix = index % 2 === 0 ? PREFIX : `${PREFIX}a/`;
    // Some stay away until what they missed is only in the store, or nowhere.
    const absence = () => 1 + (next(2) === 0 ? next(600_000) : next(2_000));
    return new SimulatedWatch({ time, history, prefix, absence, chooseView: () => anyReplica().view });
  });
  const counts = { acknowledged: 0, unknown: 0, consistentReads: 0, faults: 0 };
  const failures: unknown[] = [];
  let acknowledged: Revision = 1;
  let over = false;

  const repeat = (meanMs: number, act: () => Promise<void> | void) => {
    const plan = () => {
      if (over) return;
      time.schedule(1 + next(2 * meanMs), () => {
        void Promise.resolve()
          .then(act)
          .catch((error: unknown) => {
            if (!isExpected(error)) failures.push(error);
            else if (error instanceof StorageUnavailableError) counts.unknown++;
          })
          .finally(plan);
      });
    };
    plan();
  };
  const write = async () => {
    const { storage } = anyReplica();
    const key = `${next(5) === 0 ? OTHER_PREFIX : PREFIX}${next(2) === 0 ? "a" : "b"}/${next(KEYS)}`;
    const value = encodeStoredValue({ apiVersion: "v1", kind: "Thing", metadata: { name: key } });
    const current = await storage.get(key);
    const deletes = next(4) === 0;
    const revision = await (current === undefined
      ? storage.create(key, value)
      : deletes
        ? storage.delete(key, current.revision)
        : storage.update(key, value, current.revision));
    const type = current !== undefined && deletes ? "delete" : "put";
    expect(history.at(revision)).toEqual({ type, key, revision });
    acknowledged = Math.max(acknowledged, revision);
    counts.acknowledged++;
  };
  const readConsistently = async () => {
    const before = acknowledged;
    const replica = anyReplica();
    const revision = await replica.cache.refresh();
    expect(revision).toBeGreaterThanOrEqual(before);
    expect(replica.cache.revision).toBeGreaterThanOrEqual(revision);
    replica.check();
    counts.consistentReads++;
  };
  const fault = async () => {
    counts.faults++;
    const replica = anyReplica();
    switch (next(4)) {
      case 0:
        return replica.crash();
      case 1:
        return replica.storage.breakWatches();
      case 2:
        replica.storage.cutOff();
        await time.pause(next(60_000));
        return replica.storage.reconnect();
      default:
        // Sometimes everything is forgotten.
        return store.compact(history.revision - (next(3) === 0 ? 0 : Math.min(history.revision - 1, next(100))));
    }
  };

  for (let client = 0; client < 4; client++) repeat(20_000, write);
  repeat(15_000, readConsistently);
  repeat(60_000, () => {
    for (const replica of replicas) replica.check();
  });
  repeat(60_000, () => watches[next(watches.length)]!.leave());
  repeat(240_000, fault);
  await time.runUntil(HOURS * HOUR_MS);
  expect(failures).toEqual([]);

  // Once the faults end, everybody knows everything.
  over = true;
  network.lossRate = 0;
  for (const replica of replicas) replica.storage.reconnect();
  await time.runUntil(HOURS * HOUR_MS + 1_200_000);
  for (const replica of replicas) {
    replica.check();
    expect(replica.cache.revision).toBe(history.revision);
  }
  const newest = (prefix: string) => history.between(0, history.revision, prefix).at(-1)?.revision ?? 0;
  for (const watch of watches) expect(watch.known).toBeGreaterThanOrEqual(newest(`${PREFIX}a/`));
  for (const replica of replicas) await replica.cache[Symbol.asyncDispose]();
  expect(counts.acknowledged).toBeGreaterThan(100 * HOURS);
  expect(counts.consistentReads).toBeGreaterThan(50 * HOURS);
  expect(Math.min(...watches.map(({ received }) => received))).toBeGreaterThan(10 * HOURS);
});
