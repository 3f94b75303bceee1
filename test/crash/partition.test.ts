// A member of etcd is cut off from the others but not from its clients: they may neither read old values from it nor lose a write in it.
// CRASH_OPERATIONS says how many operations the run takes, TEST_SEED repeats it as far as the scheduler allows.

import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { WatchRecorder } from "@postern/apiserver/storage/testing/watch-recorder";
import { keyOf, revisionOf } from "@postern/apiserver/storage/watcher-set";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, test } from "vitest";
import { expectLinearizable } from "./testing/expect-linearizable.ts";
import { createNetwork } from "./testing/network-namespaces.ts";
import { recordHistory } from "./testing/record-history.ts";

const OPERATIONS = Number(process.env["CRASH_OPERATIONS"] ?? 1_500);
const seed = Number(process.env["TEST_SEED"]);

test.skipIf(whyNoEtcd() !== undefined)(
  `etcd is linearizable through two stores while its network is torn, and their watches agree (TEST_SEED=${seed}, CRASH_OPERATIONS=${OPERATIONS})`,
  async ({ skip }) => {
    using network = createNetwork(3);
    if (network === undefined) return skip("network namespaces can only be made by root");
    const next = randomNumbers(seed);
    await using etcd = await startEtcd({ hosts: network.hosts });
    const options = { requestTimeoutMs: 2_000 };
    await using one = await openEtcdStorage({ ...options, endpoints: etcd.endpoints });
    await using two = await openEtcdStorage({ ...options, endpoints: etcd.endpoints.toReversed() });
    let isolated: number | undefined;
    let due = 1 + next(400);
    const history = await recordHistory({
      stores: () => [one, two],
      clients: 10,
      keys: 6,
      operations: OPERATIONS,
      next,
      onOperation: (count) => {
        if (count < due) return;
        due = count + 1 + next(400);
        if (isolated === undefined) {
          isolated = next(3);
          network.isolate(isolated);
        } else {
          network.join(isolated);
          isolated = undefined;
        }
      },
    });
    if (isolated !== undefined) network.join(isolated);
    expectLinearizable(history, OPERATIONS / 4);

    const newest = await one.currentRevision();
    const logs = await Promise.all(
      [one, two].map(async (storage) => {
        using watch = WatchRecorder.start(storage, "/", 1);
        await watch.reached(newest);
        return watch.events.map((event) => `${event.type} ${keyOf(event)}@${revisionOf(event)}`);
      }),
    );
    expect(logs[0]).toEqual(logs[1]);
    const told = new Set(logs[0]!.map((line) => Number(line.split("@")[1])));
    for (const { revision } of history.writes) expect(told.has(revision)).toBe(true);
  },
);
