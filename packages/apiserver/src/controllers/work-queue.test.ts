import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { createWorkQueueMetrics } from "../metrics/work-queue-metrics.ts";
import type { Scheduler } from "../runtime/clock.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { type QueuePort, WorkQueue } from "./work-queue.ts";

/** Runs what is due when the test says so. */
function manualScheduler(): Scheduler & { readonly delays: number[]; runAll(): void } {
  const tasks = new Map<object, { readonly delayMs: number; readonly task: () => void }>();
  return {
    schedule(delayMs, task) {
      const handle = { [Symbol.dispose]: () => void tasks.delete(handle) };
      tasks.set(handle, { delayMs, task });
      return handle;
    },
    get delays() {
      return [...tasks.values()].map(({ delayMs }) => delayMs);
    },
    runAll() {
      const due = [...tasks.values()];
      tasks.clear();
      for (const { task } of due) task();
    },
  };
}

const portWith = (scheduler: Scheduler, others: Partial<QueuePort> = {}): QueuePort => ({
  runtime: { clock: systemRuntime.clock, scheduler },
  onError: () => {},
  ...others,
});

/** Of the event loop: so many that a queue has begun all that it may. */
async function someTurns(): Promise<void> {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe("WorkQueue", () => {
  it("works on a key once however often it was added, and again when it was added meanwhile", async () => {
    const done: string[] = [];
    let release: () => void = () => {};
    const queue = new WorkQueue(portWith(manualScheduler()), {
      name: "test",
      process: async (key) => {
        done.push(key);
        if (done.length === 1) await new Promise<void>((resolve) => (release = resolve));
      },
    });
    queue.add("a");
    queue.add("a");
    queue.add("b");
    expect(done).toEqual([]);
    await Promise.resolve();
    queue.add("a");
    release();
    await queue.idle();
    expect(done).toEqual(["a", "b", "a"]);
  });

  it("holds up neither other lanes nor work without one for a lane that does not answer", async () => {
    const begun: string[] = [];
    const release = new Map<string, () => void>();
    const queue = new WorkQueue(portWith(manualScheduler()), {
      name: "test",
      concurrency: 8,
      laneOf: (key) => (key.startsWith("own") ? "" : (key.split("/")[0] ?? "")),
      process: async (key) => {
        begun.push(key);
        if (key.startsWith("silent")) await new Promise<void>((resolve) => release.set(key, resolve));
      },
    });
    const turns = someTurns;
    for (let i = 0; i < 20; i++) queue.add(`silent/${i}`);
    await turns();
    expect(begun).toEqual(["silent/0", "silent/1"]);
    for (const lane of ["silent-too", "silent-three", "silent-four", "silent-five"])
      for (let i = 0; i < 20; i++) queue.add(`${lane}/${i}`);
    for (const key of ["own/a", "own/b", "own/c", "own/d", "own/e"]) queue.add(key);
    await turns();
    const waiting = () => begun.filter((key) => key.startsWith("silent"));
    // Two of each lane, beyond the concurrency of the queue.
    expect(waiting()).toHaveLength(10);
    expect(begun.filter((key) => key.startsWith("own"))).toHaveLength(5);
    queue.add("own/later");
    await turns();
    expect(begun).toContain("own/later");
    // A lane has its turn as soon as there is room in it.
    release.get("silent/0")?.();
    await turns();
    expect(begun).toContain("silent/2");
    queue[Symbol.dispose]();
  });

  it.each([30, 100, 3_000])("holds up no lane for %d lanes that are slow", async (count) => {
    let elapsed = 0;
    const scheduler = manualScheduler();
    const begun: string[] = [];
    const release = new Map<string, () => void>();
    const port = portWith(scheduler, { runtime: { clock: { now: () => 0, elapsed: () => elapsed }, scheduler } });
    const queue = new WorkQueue(port, {
      name: "test",
      laneOf: (key) => key.split("/")[0] ?? "",
      process: async (key) => {
        begun.push(key);
        if (key.startsWith("dead")) await new Promise<void>((resolve) => release.set(key, resolve));
      },
    });
    const turns = async () => {
      await someTurns();
      scheduler.runAll();
      await someTurns();
    };
    // They become slow, which takes those of more than a thousand their turns.
    for (let lane = 0; lane < count; lane++) queue.add(`dead-${lane}/first`);
    for (let rounds = 0; queue.length > 0 || release.size > 0; rounds++) {
      expect(rounds).toBeLessThan(10);
      await turns();
      elapsed += 20_000;
      const open = [...release.values()];
      release.clear();
      for (const end of open) end();
      await turns();
    }
    for (let lane = 0; lane < count; lane++) for (const key of ["a", "b", "c"]) queue.add(`dead-${lane}/${key}`);
    await turns();
    expect(release.size).toBe(Math.min(count, 500));
    for (let lane = 0; lane < 200; lane++) queue.add(`good-${lane}/a`);
    await turns();
    expect(begun.filter((key) => key.startsWith("good"))).toHaveLength(200);
    // One that answers again has its second place back.
    const [first = "", end] = [...release][0] ?? [];
    const lane = first.split("/")[0] ?? "";
    release.delete(first);
    end?.();
    await turns();
    if (count <= 500) expect([...release.keys()].filter((key) => key.startsWith(`${lane}/`))).toHaveLength(2);
    queue[Symbol.dispose]();
  });

  it.each([
    ["without lanes", undefined],
    ["in one lane", () => "lane"],
  ])("gives each folder its turn, however many keys another has, %s", async (_, laneOf) => {
    const done: string[] = [];
    const process = async (key: string) => void done.push(key);
    const options = { name: "test", concurrency: 1, process };
    const queue = new WorkQueue(portWith(manualScheduler()), laneOf === undefined ? options : { ...options, laneOf });
    const many = Array.from({ length: 1_000 }, (_item, at) => `/things/many/${at}`);
    for (const key of many) queue.add(key);
    for (const key of ["/things/few/a", "/things/few/b", "no folder"]) queue.add(key);
    await queue.idle();
    const first = ["/things/many/0", "/things/few/a", "no folder", "/things/many/1", "/things/few/b"];
    expect(done.slice(0, 5)).toEqual(first);
    expect(done.filter((key) => many.includes(key))).toEqual(many);
  });

  it("works on lanes in a queue of any size", async () => {
    const done: string[] = [];
    const process = async (key: string) => void done.push(key);
    const queue = new WorkQueue(portWith(manualScheduler()), {
      name: "test",
      concurrency: 1,
      laneOf: (key) => key,
      process,
    });
    for (const key of ["a", "b", ""]) queue.add(key);
    await queue.idle();
    expect(done.toSorted()).toEqual(["", "a", "b"]);
  });

  it("handles a self-requeuing key up to a hundred times a second, and still works on the others", async () => {
    let elapsed = 0;
    const scheduler = manualScheduler();
    const done: string[] = [];
    const port = portWith(scheduler, { runtime: { clock: { now: () => 0, elapsed: () => elapsed }, scheduler } });
    const queue: WorkQueue = new WorkQueue(port, {
      name: "test",
      process: async (key) => {
        done.push(key);
        if (key === "circle") queue.add(key);
      },
    });
    queue.add("circle");
    await queue.idle();
    expect([done.length, scheduler.delays]).toEqual([100, [1000]]);
    queue.add("circle");
    queue.add("other");
    await queue.idle();
    expect([done.length, done.at(-1), scheduler.delays]).toEqual([101, "other", [1000]]);
    elapsed = 1000;
    scheduler.runAll();
    await queue.idle();
    expect([done.length, scheduler.delays]).toEqual([201, [1000]]);
  });

  it("keeps a key that was worked on too often, also where a timer is early", async () => {
    let elapsed = 0;
    const scheduler = manualScheduler();
    const done: string[] = [];
    const port = portWith(scheduler, { runtime: { clock: { now: () => 0, elapsed: () => elapsed }, scheduler } });
    const queue = new WorkQueue(port, { name: "test", process: async (key) => void done.push(key) });
    for (let run = 0; run < 100; run++) {
      queue.add("busy");
      await queue.idle();
    }
    queue.add("busy");
    elapsed = 999.5;
    scheduler.runAll();
    expect([done.length, scheduler.delays]).toEqual([100, [0.5]]);
    elapsed = 1000;
    scheduler.runAll();
    await queue.idle();
    expect([done.length, scheduler.delays]).toEqual([101, []]);
  });

  it("works within a second on a key that changes, also where its retry is planned for later", async () => {
    const scheduler = manualScheduler();
    const port = portWith(scheduler, { runtime: { clock: { now: () => 0, elapsed: () => 0 }, scheduler } });
    const queue = new WorkQueue(port, { name: "test", process: () => Promise.reject(new Error("not yet")) });
    for (let run = 0; run < 100; run++) {
      queue.add("busy");
      await queue.idle();
    }
    expect(scheduler.delays).toEqual([300_000]);
    queue.add("busy");
    expect(scheduler.delays).toEqual([1000]);
  });

  it("lets everything else have its turn between keys that wait for nothing", async () => {
    let turns = 0;
    let turnsAtEnd = 0;
    const queue = new WorkQueue(portWith(systemRuntime.scheduler), {
      name: "test",
      process: async () => {
        const begun = performance.now();
        while (performance.now() - begun < 5);
        turnsAtEnd = turns;
      },
    });
    const counting = setInterval(() => turns++, 0);
    for (let key = 0; key < 50; key++) queue.add(String(key));
    await queue.idle();
    clearInterval(counting);
    expect(turnsAtEnd).toBeGreaterThan(3);
  });

  it("gives all keys one signal, which many listeners share without a warning of a leak", async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error): void => void warnings.push(name);
    process.on("warning", onWarning);
    using queue = new WorkQueue(portWith(systemRuntime.scheduler), {
      name: "test",
      concurrency: 30,
      process: (_key, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    });
    for (let key = 0; key < 30; key++) queue.add(`${key}`);
    await someTurns();
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  it("names itself and the key with a fault", async () => {
    const subjects: string[] = [];
    using queue = new WorkQueue(
      portWith(manualScheduler(), { onError: (_error, subject) => void subjects.push(subject) }),
      {
        name: "notices",
        process: () => Promise.reject(new Error("not today")),
      },
    );
    queue.add("default/demo");
    await someTurns();
    expect(subjects).toEqual(["notices default/demo"]);
  });

  it("never works on more keys at once than it may", async () => {
    let running = 0;
    let most = 0;
    const queue = new WorkQueue(portWith(manualScheduler()), {
      name: "test",
      concurrency: 2,
      process: async () => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
      },
    });
    for (const key of ["a", "b", "c", "d", "e"]) queue.add(key);
    await queue.idle();
    expect(most).toBe(2);
  });

  it("tries failed work again after delays that double, until it succeeds", async () => {
    const scheduler = manualScheduler();
    const errors: unknown[] = [];
    let failures = 3;
    const queue = new WorkQueue(portWith(scheduler, { onError: (error) => void errors.push(error) }), {
      name: "test",
      baseDelayMs: 10,
      maxDelayMs: 30,
      process: async () => {
        if (failures-- > 0) throw new Error("not yet");
      },
    });
    queue.add("a");
    const delays: number[] = [];
    for (let round = 0; round < 4; round++) {
      await queue.idle();
      delays.push(...scheduler.delays);
      scheduler.runAll();
    }
    expect(delays).toEqual([10, 20, 30]);
    expect(errors).toHaveLength(3);
    failures = 1;
    queue.add("a");
    await queue.idle();
    expect(scheduler.delays).toEqual([10]);
  });

  it("stops once disposed, and signals running work", async () => {
    const scheduler = manualScheduler();
    let aborted = false;
    const queue = new WorkQueue(portWith(scheduler), {
      name: "test",
      process: (_key, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(signal.reason);
          });
        }),
    });
    queue.add("a");
    queue.addAfter("b", 5);
    await someTurns();
    queue[Symbol.dispose]();
    queue.add("c");
    await queue.idle();
    expect(aborted).toBe(true);
    expect(scheduler.delays).toEqual([]);
    expect(queue.length).toBe(0);
  });

  it("counts what it does, and what it is at, as work queues of Kubernetes do", async () => {
    const registry = new Registry();
    const manual = manualScheduler();
    const scheduler: Scheduler = {
      schedule: (delayMs, task) => (delayMs === 0 ? systemRuntime.scheduler : manual).schedule(delayMs, task),
    };
    let now = 0;
    const clock = { now: () => now, elapsed: () => now };
    const started: string[] = [];
    const release = new Map<string, (error?: Error) => void>();
    using queue = new WorkQueue(
      { runtime: { clock, scheduler }, onError: () => {}, queueMetrics: createWorkQueueMetrics(registry) },
      {
        name: "things",
        concurrency: 2,
        process: (key) =>
          new Promise((resolve, reject) => {
            started.push(key);
            release.set(key, (error) => (error === undefined ? resolve() : reject(error)));
          }),
      },
    );
    const read = async () => {
      const samples = (await registry.metrics()).matchAll(/^workqueue_(\w+)\{name="things"\} (\S+)$/gm);
      return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]));
    };
    const idle = { depth: 0, unfinished_work_seconds: 0, longest_running_processor_seconds: 0 };
    expect(await read()).toEqual({ ...idle, adds_total: 0, retries_total: 0 });

    for (const key of ["a", "a", "b", "c"]) queue.add(key);
    now = 1_000;
    await Promise.resolve();
    expect(started).toEqual(["a", "b"]);
    now = 3_000;
    expect(await read()).toEqual({
      adds_total: 3,
      retries_total: 0,
      depth: 1,
      unfinished_work_seconds: 4,
      longest_running_processor_seconds: 2,
      queue_duration_seconds_sum: 2,
      queue_duration_seconds_count: 2,
    });

    release.get("a")?.(new Error("not yet"));
    release.get("b")?.();
    await expect.poll(() => started).toEqual(["a", "b", "c"]);
    now = 4_000;
    release.get("c")?.();
    await queue.idle();
    expect(await read()).toEqual({
      ...idle,
      adds_total: 3,
      retries_total: 1,
      queue_duration_seconds_sum: 5,
      queue_duration_seconds_count: 3,
      work_duration_seconds_sum: 5,
      work_duration_seconds_count: 3,
    });
  });

  it("leaves nothing planned once disposed, also in the middle of much work", async () => {
    let elapsed = 0;
    const scheduler = manualScheduler();
    const runtime = { clock: { now: () => 0, elapsed: () => elapsed }, scheduler };
    const done: string[] = [];
    const queue = new WorkQueue(portWith(scheduler, { runtime }), {
      name: "test",
      concurrency: 1,
      process: (key) => {
        done.push(key);
        elapsed += 1_000;
        return Promise.resolve();
      },
    });
    for (const key of ["a", "b"]) queue.add(key);
    queue.addAfter("c", 10);
    await expect.poll(() => done).toEqual(["a"]);
    queue[Symbol.dispose]();
    expect(scheduler.delays).toEqual([]);
    await someTurns();
    expect(done).toEqual(["a"]);
  });

  it("shares its turn with other queues on the same clock", async () => {
    let elapsed = 0;
    const clock = { now: () => 0, elapsed: () => elapsed };
    let turn = 0;
    const worked: number[] = [];
    const queues = [1, 2, 3].map(
      () =>
        new WorkQueue(portWith(systemRuntime.scheduler, { runtime: { clock, scheduler: systemRuntime.scheduler } }), {
          name: "test",
          concurrency: 16,
          process: async () => {
            elapsed += 3;
            worked[turn] = (worked[turn] ?? 0) + 3;
          },
        }),
    );
    let isOver = false;
    const count = (): void => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    for (const queue of queues) for (let key = 0; key < 30; key++) queue.add(String(key));
    await Promise.all(queues.map((queue) => queue.idle()));
    isOver = true;
    expect(worked.reduce((sum, each) => sum + each)).toBe(270);
    // Each turn of the event loop has two parts at most: what was under way, and what continues.
    expect(Math.max(...worked.filter((each) => each !== undefined))).toBeLessThanOrEqual(12);
  });

  it("is counted together with others of its name, and is at nothing once disposed", async () => {
    const registry = new Registry();
    const port = { ...portWith(manualScheduler()), queueMetrics: createWorkQueueMetrics(registry) };
    const queues = ["a", "b"].map((key) => {
      const queue = new WorkQueue(port, { name: "things", process: () => new Promise(() => {}) });
      queue.add(key);
      return queue;
    });
    const read = async (name: string) =>
      new RegExp(`^${name}\\{name="things"\\} (.*)$`, "m").exec(await registry.metrics())?.[1];
    expect(await read("workqueue_depth")).toBe("2");
    for (const queue of queues) queue[Symbol.dispose]();
    expect(await read("workqueue_depth")).toBe("0");
    expect(await read("workqueue_adds_total")).toBe("2");
  });
});
