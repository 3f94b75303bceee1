// What a watch is told when its way to etcd breaks, and etcd is not the same any more when it is back.

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import { WatchRecorder } from "@postern/apiserver/storage/testing/watch-recorder";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEtcdStorage } from "./etcd-storage.ts";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "./testing/start-etcd.ts";

const value = Buffer.from("x");

/** The way to an etcd, which can be broken and lead elsewhere. */
async function startWay(to: string) {
  let target: string | undefined = to;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const [host = "", port = ""] = target?.split(":") ?? [];
    const far = target === undefined ? undefined : connect(Number(port), host);
    for (const socket of [near, far]) {
      if (socket === undefined) continue;
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    if (far === undefined) near.destroy();
    else near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    endpoint: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    break() {
      target = undefined;
      breakAll();
    },
    mend(next: string) {
      target = next;
    },
    [Symbol.dispose]() {
      breakAll();
      server.close();
    },
  };
}

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
    const way = await startWay(endpoint);
    const far = await openEtcdStorage({ endpoints: [way.endpoint], prefix, requestTimeoutMs: 1_000 });
    const near = await openEtcdStorage({ endpoints: etcd.endpoints, prefix });
    return { endpoint, way, far, near };
  };

  test("what happened meanwhile is told, once and in order", async () => {
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
