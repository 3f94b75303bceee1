import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { WatchObserver } from "@postern/apiserver/storage/storage";
import { keyOf } from "@postern/apiserver/storage/watcher-set";
import { describe, expect, it } from "vitest";
import { createClusterFeed } from "./cluster-feed.ts";

const bytes = new Uint8Array([1]);

function setUp() {
  const storage = createMemoryStorage();
  let watches = 0;
  const counting = {
    watch(...call: Parameters<typeof storage.watch>) {
      watches++;
      return storage.watch(...call);
    },
  };
  const feed = createClusterFeed(counting, "/registry/vc-", systemRuntime.scheduler);
  const follow = (uid: string, from: number) => {
    const keys: string[] = [];
    let covered = from;
    let failed: Error | undefined;
    const observer: WatchObserver = {
      events(events, revision) {
        keys.push(...events.map(keyOf));
        covered = revision;
      },
      error(error) {
        failed = error;
      },
    };
    const handle = feed.join(`/registry/vc-${uid}/`, from, observer);
    return { keys, handle, covered: () => covered, failed: () => failed };
  };
  return { storage, feed, follow, watches: () => watches };
}

describe("the feed of clusters", () => {
  it("gives each cluster its own events, from one watch of the store", async () => {
    const { storage, follow, watches } = setUp();
    const from = await storage.currentRevision();
    const [a, b] = [follow("a", from), follow("b", from)];
    await storage.create("/registry/vc-a/core/x/1", bytes);
    await storage.create("/registry/vc-b/core/x/2", bytes);
    await storage.create("/registry/vc-ab/core/x/3", bytes);
    await storage.create("/registry/management/core/x/4", bytes);
    expect(a.keys).toEqual(["/registry/vc-a/core/x/1"]);
    expect(b.keys).toEqual(["/registry/vc-b/core/x/2"]);
    expect(watches()).toBe(1);
  });

  it("gives a cluster that joins with an older state everything since, each once", async () => {
    const { storage, follow } = setUp();
    const from = await storage.currentRevision();
    const other = follow("b", from);
    for (let count = 0; count < 5; count++) await storage.create(`/registry/vc-a/core/x/${count}`, bytes);
    const a = follow("a", from);
    await expect.poll(() => a.keys.length).toBe(5);
    for (let count = 5; count < 10; count++) await storage.create(`/registry/vc-a/core/x/${count}`, bytes);
    expect(a.keys).toEqual(Array.from({ length: 10 }, (_, count) => `/registry/vc-a/core/x/${count}`));
    expect(other.keys).toEqual([]);
  });

  it("tells a cluster that asks that a revision has passed, also without a change of its own", async () => {
    const { storage, feed, follow } = setUp();
    const a = follow("a", await storage.currentRevision());
    const revision = await storage.create("/registry/vc-b/core/x/1", bytes);
    feed.tell("/registry/vc-a/", revision);
    await expect.poll(a.covered).toBe(revision);
    expect(a.keys).toEqual([]);
  });

  it("ends its watch with the last cluster, and begins again with the next", async () => {
    const { storage, follow, watches } = setUp();
    const first = follow("a", await storage.currentRevision());
    first.handle[Symbol.dispose]();
    await storage.create("/registry/vc-a/core/x/1", bytes);
    expect(first.keys).toEqual([]);
    const second = follow("a", await storage.currentRevision());
    await storage.create("/registry/vc-a/core/x/2", bytes);
    expect(second.keys).toEqual(["/registry/vc-a/core/x/2"]);
    expect(watches()).toBe(2);
  });

  it("passes on that the store cannot be followed", async () => {
    const { storage, follow } = setUp();
    const a = follow("a", await storage.currentRevision());
    await storage[Symbol.asyncDispose]();
    await expect.poll(a.failed).toBeInstanceOf(Error);
  });
});
