import { describe, expect, it } from "vitest";
import { manualTime as clockTime } from "../runtime/testing/manual-time.ts";
import { watchExpiry, watchFirst, watchRevocation } from "./revocation-watch.ts";

/** Time moves when the test says so. */
function manualTime() {
  let now = 0;
  const tasks = new Set<{ readonly at: number; readonly task: () => void }>();
  return {
    clock: { now: () => now, elapsed: () => now },
    scheduler: {
      schedule(delayMs: number, task: () => void) {
        expect(delayMs).toBeLessThan(2 ** 31);
        const entry = { at: now + delayMs, task };
        tasks.add(entry);
        return { [Symbol.dispose]: () => void tasks.delete(entry) };
      },
    },
    get waiting() {
      return tasks.size;
    },
    moveTo(time: number) {
      now = time;
      for (const entry of [...tasks]) {
        if (entry.at > now) continue;
        tasks.delete(entry);
        entry.task();
      }
    },
  };
}

describe("a credential that ends by itself (security book 15)", () => {
  it.each([1_000, 2 ** 31 - 1, 2 ** 31, 10 * 366 * 86_400_000])("reports it after %d ms and not before", (end) => {
    const time = manualTime();
    let calls = 0;
    watchExpiry(end, time)(() => calls++);
    for (let at = 0; at < end; at += 2 ** 31 - 1) time.moveTo(at);
    time.moveTo(end - 1);
    expect(calls).toBe(0);
    time.moveTo(end);
    expect(calls).toBe(1);
    expect(time.waiting).toBe(0);
  });

  it.each([
    ["forwards", 5 * 3_600_000, 10_000],
    ["backwards", -5 * 3_600_000, 3_600_000],
  ])("ends in time when the clock is set %s", (_name, by, within) => {
    const time = clockTime();
    let calls = 0;
    watchExpiry(time.clock.now() + 3_600_000, time)(() => calls++);
    time.setTimeOfDay(time.clock.now() + by);
    time.advance(within - 1);
    expect(calls).toBe(0);
    time.advance(1);
    expect([calls, time.waiting]).toEqual([1, 0]);
  });

  it("leaves no timer when no request waits any more", () => {
    const time = manualTime();
    watchExpiry(5_000, time)(() => expect.unreachable())[Symbol.dispose]();
    expect(time.waiting).toBe(0);
  });
});

describe("a credential that ends for several reasons (security book 15)", () => {
  it("ends once, with the first of them, and not after it was let go", () => {
    const listeners = new Set<() => void>();
    const watch = (listener: () => void) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    };
    let calls = 0;
    const handle = watchFirst([watch, watch])(() => calls++);
    for (const listener of listeners) listener();
    expect(calls).toBe(1);
    handle[Symbol.dispose]();
    expect(listeners.size).toBe(0);
    const late = watchFirst([watch])(() => expect.unreachable());
    const [listener] = listeners;
    late[Symbol.dispose]();
    listener?.();
  });

  it("ends with the change that makes it over, and at once when it is over already", () => {
    let isOver = false;
    let changed = (): void => {};
    let calls = 0;
    const onChange = (listener: () => void) => {
      changed = listener;
      return { [Symbol.dispose]() {} };
    };
    watchRevocation(() => isOver, onChange)(() => calls++);
    changed();
    expect(calls).toBe(0);
    isOver = true;
    changed();
    expect(calls).toBe(1);
    watchRevocation(() => isOver, onChange)(() => calls++);
    expect(calls).toBe(2);
  });
});
