import { beforeEach, describe, expect, it } from "vitest";
import { createThreadPool, type OnThreadEnd, type ThreadPool } from "./thread-pool.ts";
import type { EndReason } from "./thread-process.ts";

type FakeThread = {
  readonly name: string;
  readonly onEnd: OnThreadEnd;
  closed: string | undefined;
  close(error: Error): void;
};

let now = 0;
let threads: FakeThread[] = [];
let planned: { readonly ms: number; readonly task: () => void }[] = [];
let lost: { readonly uids: readonly string[]; readonly culprit: string | undefined; readonly reason: EndReason }[] = [];
let needs = new Map<string, number>();
let pool: ThreadPool<FakeThread>;

beforeEach(() => {
  [now, threads, planned, lost, needs] = [0, [], [], [], new Map()];
  pool = createThreadPool<FakeThread>({
    size: 2,
    roomBytes: { shared: 100, alone: 50 },
    clock: { now: () => now, elapsed: () => now },
    scheduler: {
      schedule(ms, task) {
        const plan = { ms, task };
        planned.push(plan);
        return { [Symbol.dispose]: () => void planned.splice(planned.indexOf(plan), 1) };
      },
    },
    needOf: (uid) => needs.get(uid) ?? 10,
    start(name, _, onEnd) {
      const thread: FakeThread = {
        name,
        onEnd,
        closed: undefined,
        close(error) {
          thread.closed = error.message;
        },
      };
      threads.push(thread);
      return thread;
    },
    onLost: (uids, culprit, reason) => lost.push({ uids, culprit, reason }),
  });
  now = 60_000;
});

const nameOf = (uid: string): string => pool.place(uid).thread.name;

describe("a pool of threads", () => {
  it("starts each cluster in the thread with most room", () => {
    needs.set("large", 60);
    expect(["large", "a", "b", "c"].map(nameOf)).toEqual(["shared-1", "shared-2", "shared-2", "shared-2"]);
  });

  it("refuses a cluster for which no thread has room, but not one that is alone in its thread", () => {
    needs.set("huge", 500);
    expect(nameOf("huge")).toBe("shared-1");
    needs.set("large", 95);
    expect(nameOf("large")).toBe("shared-2");
    expect(() => pool.place("small")).toThrow("waits for memory");
  });

  it("says which clusters leave no room for another", () => {
    needs.set("large", 60);
    needs.set("larger", 70);
    expect(pool.crowding("large")).toBeUndefined();
    pool.place("large");
    pool.place("larger");
    expect(pool.crowding("small")).toBeUndefined();
    needs.set("new", 55);
    expect(pool.crowding("new")).toEqual({ uids: ["large"], missingBytes: 15 });
    // As much as all that runs there.
    needs.set("new", 500);
    expect(pool.crowding("new")).toEqual({ uids: ["large"], missingBytes: 60 });
  });

  it("replaces a thread that ends, and names the cluster that it worked for", () => {
    const { thread, slot } = pool.place("a");
    pool.place("b");
    pool.place("c");
    const reasons: EndReason[] = [];
    pool.onThreadEnd((reason) => reasons.push(reason));
    thread.onEnd("stalled", slot);
    expect(lost).toEqual([{ uids: ["a", "c"], culprit: "a", reason: "stalled" }]);
    expect(thread.closed).toContain("starts again");
    expect(reasons).toEqual(["stalled"]);
    expect(pool.place("c").thread).not.toBe(thread);
    expect(nameOf("a")).toBe("alone-1");
  });

  it("lets clusters that stopped a thread hold up each other alone", () => {
    for (const uid of ["a", "b", "c"]) {
      const { thread, slot } = pool.place(uid);
      thread.onEnd("memory", slot);
    }
    expect(["a", "b", "c"].map(nameOf)).toEqual(["alone-1", "alone-2", "alone-1"]);
    expect(nameOf("d")).toMatch(/^shared-/);
  });

  it("does not start a paused cluster, and ends a thread for one cluster with it", () => {
    for (let count = 0; count < 2; count++) {
      const { thread, slot } = pool.place("a");
      thread.onEnd("stalled", slot);
    }
    expect(() => pool.place("a")).toThrow("the virtual cluster is paused");
    now += 10_000;
    const { thread, slot } = pool.place("a");
    pool.leave(slot);
    expect(thread.closed).toContain("stopped");
    expect(pool.threads.map(({ name }) => name).filter((name) => name.startsWith("alone"))).toEqual([]);
  });

  it("begins no thread for a second after one that ended soon and for no cluster", () => {
    pool.place("a").thread.onEnd("crashed", 0);
    expect(() => pool.place("a")).toThrow("are starting");
    now += 1_000;
    expect(nameOf("a")).toBe("shared-1");
  });

  it("has no thread without a cluster, but for a minute after the last one", () => {
    expect(pool.threads).toEqual([]);
    const { thread, slot } = pool.place("a");
    pool.leave(slot);
    expect(thread.closed).toBeUndefined();
    expect(nameOf("b")).toBe("shared-1");
    expect(planned).toEqual([]);
    const other = pool.place("c");
    pool.leave(other.slot);
    for (const { task } of planned) task();
    expect(other.thread.closed).toContain("stopped");
    expect(pool.threads.map(({ name }) => name)).toEqual(["shared-1"]);
  });

  it("starts nothing after it was disposed", () => {
    const { slot } = pool.place("a");
    pool.place("b");
    pool[Symbol.dispose]();
    expect(threads.map(({ closed }) => closed)).toEqual(["the server is shutting down", "the server is shutting down"]);
    expect(() => pool.place("c")).toThrow("shutting down");
    pool.leave(slot);
    expect(planned).toEqual([]);
  });
});
