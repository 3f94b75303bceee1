import { describe, expect, it } from "vitest";
import { manualTime } from "../runtime/testing/manual-time.ts";
import { FRESHNESS_BOUND_MS, followFreshness, freshnessCheck } from "./freshness.ts";

/** A store that answers at once, later or never, as the test says. */
function questions() {
  const open: { resolve(revision: number): void; reject(error: Error): void }[] = [];
  return {
    open,
    cache: { refresh: () => new Promise<number>((resolve, reject) => void open.push({ resolve, reject })) },
    /** Lets those who wait for an answer go on. */
    async answer(): Promise<void> {
      for (const question of open.splice(0)) question.resolve(1);
      await turn();
    },
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("freshness", () => {
  it("begins with the first answer, and lasts for the bound after the question", async () => {
    const time = manualTime();
    const store = questions();
    using freshness = followFreshness({ cache: store.cache, runtime: time });
    expect(freshness.isFresh()).toBe(false);
    time.advance(400);
    await store.answer();
    expect(freshness.isFresh()).toBe(true);
    time.advance(FRESHNESS_BOUND_MS - 400);
    expect(freshness.isFresh()).toBe(true);
    time.advance(1);
    expect(freshness.isFresh()).toBe(false);
  });

  it("starts with an answer of any age within the bound", async () => {
    const time = manualTime();
    const store = questions();
    const waits: (number | undefined)[] = [];
    const refresh = ({ timeoutMs }: { readonly timeoutMs?: number } = {}) => {
      waits.push(timeoutMs);
      return store.cache.refresh();
    };
    using freshness = followFreshness({ cache: { refresh }, runtime: time });
    const check = freshnessCheck(freshness);
    let isConfirmed = false;
    void freshness.confirmed.then(() => {
      isConfirmed = true;
    });
    time.advance(FRESHNESS_BOUND_MS - 1);
    await turn();
    expect(isConfirmed).toBe(false);
    expect(() => check.check()).toThrow("has not confirmed");
    const [first] = store.open;
    first?.resolve(1);
    await turn();
    expect([isConfirmed, freshness.isFresh()]).toEqual([true, true]);
    check.check();
    expect(new Set(waits)).toEqual(new Set([FRESHNESS_BOUND_MS]));
  });

  it("does not end earlier for an answer to an earlier question", async () => {
    const time = manualTime();
    const store = questions();
    using freshness = followFreshness({ cache: store.cache, runtime: time });
    time.advance(1_000);
    const [earlier, later] = store.open;
    later?.resolve(1);
    await turn();
    earlier?.resolve(1);
    await turn();
    time.advance(FRESHNESS_BOUND_MS);
    expect(freshness.isFresh()).toBe(true);
  });

  it("continues while the store answers, and reports once when it stops", async () => {
    const time = manualTime();
    const store = questions();
    using freshness = followFreshness({ cache: store.cache, runtime: time });
    await store.answer();
    let told = 0;
    using _stays = freshness.onStale(() => told++);
    freshness.onStale(() => expect.unreachable())[Symbol.dispose]();
    for (let second = 0; second < 60; second++) {
      time.advance(1_000);
      await store.answer();
    }
    expect([freshness.isFresh(), told]).toEqual([true, 0]);
    time.advance(FRESHNESS_BOUND_MS + 1);
    expect([freshness.isFresh(), told]).toEqual([false, 1]);
    for (const question of store.open.splice(0)) question.reject(new Error("out of reach"));
    await turn();
    expect(freshness.isFresh()).toBe(false);
    time.advance(1_000);
    await store.answer();
    expect([freshness.isFresh(), told]).toEqual([true, 1]);
  });

  it("refuses a late request quickly", async () => {
    const time = manualTime();
    using freshness = followFreshness({ cache: questions().cache, runtime: time });
    await new Promise<void>((resolve) => freshness.onStale(resolve));
  });

  it("ignores an answer that arrives after the process was suspended", async () => {
    const time = manualTime();
    const store = questions();
    using freshness = followFreshness({ cache: store.cache, runtime: time });
    // No timer fires while a process is stopped.
    time.standStill(FRESHNESS_BOUND_MS + 1);
    await store.answer();
    expect(freshness.isFresh()).toBe(false);
  });

  it("takes no notice of the time of day being set", async () => {
    const time = manualTime();
    const store = questions();
    using freshness = followFreshness({ cache: store.cache, runtime: time });
    await store.answer();
    time.setTimeOfDay(time.clock.now() + 86_400_000);
    expect(freshness.isFresh()).toBe(true);
    time.setTimeOfDay(time.clock.now() - 7 * 86_400_000);
    time.advance(FRESHNESS_BOUND_MS + 1);
    expect(freshness.isFresh()).toBe(false);
  });

  it("leaves no timer behind", async () => {
    const time = manualTime();
    const store = questions();
    const freshness = followFreshness({ cache: store.cache, runtime: time });
    await store.answer();
    freshness[Symbol.dispose]();
    expect(time.waiting).toBe(0);
  });
});
