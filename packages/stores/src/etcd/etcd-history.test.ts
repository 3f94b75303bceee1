// Events of a watch whose connection to etcd breaks while etcd changes.

import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import { WatchRecorder } from "@postern/apiserver/storage/testing/watch-recorder";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEtcdStorage } from "./etcd-storage.ts";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "./testing/start-etcd.ts";
import { startRelay } from "./testing/start-relay.ts";

const value = Buffer.from("x");

describe.skipIf(whyNoEtcd() !== undefined)("a way to etcd that breaks", () => {
  let etcd: EtcdCluster;
  let other: EtcdCluster;
  beforeAll(async () => {
    [etcd, other] = await Promise.all([startEtcd(), startEtcd()]);
  });
  afterAll(async () => {
    await Promise.all([etcd[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  });
  const start = async (prefix: string) => {
    const [endpoint = ""] = etcd.endpoints;
    const way = await startRelay(endpoint);
    const far = await openEtcdStorage({ endpoints: [way.endpoint], prefix, requestTimeoutMs: 1_000 });
    const near = await openEtcdStorage({ endpoints: etcd.endpoints, prefix });
    return { endpoint, way, far, near };
  };

  test("missed events are sent, once and in order", async () => {
    const { endpoint, way, far, near } = await start("/missed");
    using _way = way;
    await using _far = far;
    await using _near = near;
    const first = await near.create("/a", value);
    using watch = WatchRecorder.start(far, "/", first - 1);
    await watch.reached(first);
    way.break();
    const deleted = await near.delete("/a", first);
    const last = await near.create("/b", value);
    way.mend(endpoint);
    await watch.reached(last);
    expect(watch.log).toEqual([`put /a@${first}`, `delete /a@${deleted}`, `put /b@${last}`]);
  });

  test("a deletion that etcd has forgotten meanwhile is not passed over: the watch ends", async () => {
    const { endpoint, way, far, near } = await start("/forgotten");
    using _way = way;
    await using _far = far;
    await using _near = near;
    const first = await near.create("/a", value);
    using watch = WatchRecorder.start(far, "/", first - 1);
    await watch.reached(first);
    way.break();
    const deleted = await near.delete("/a", first);
    // The very revision that comes next for the watch.
    await near.compact(deleted);
    way.mend(endpoint);
    expect(await watch.ended()).toBeInstanceOf(RevisionCompactedError);
    expect(watch.log).toEqual([`put /a@${first}`]);
  });

  test("another history, such as that of a backup, ends the watch, also where it has got further", async () => {
    const { way, far, near } = await start("/restored");
    using _way = way;
    await using _far = far;
    await using _near = near;
    const [elsewhere = ""] = other.endpoints;
    await using restored = await openEtcdStorage({ endpoints: [elsewhere], prefix: "/restored" });
    const first = await near.create("/a", value);
    using watch = WatchRecorder.start(far, "/", first - 1);
    await watch.reached(first);
    let newest = await restored.create("/other", value);
    while (newest < first + 20) newest = await restored.update("/other", value, newest);
    way.break();
    way.mend(elsewhere);
    expect(await watch.ended()).toBeInstanceOf(RevisionCompactedError);
    expect(watch.log).toEqual([`put /a@${first}`]);
    // From there on it goes on.
    await expect.poll(() => far.health.check().catch((error: unknown) => error)).toBeUndefined();
    using again = WatchRecorder.start(far, "/", newest);
    const next = await restored.create("/next", value);
    await again.reached(next);
    expect(again.log).toEqual([`put /next@${next}`]);
  });
});
