import { describe, expect, it } from "vitest";
import type { LogFields, Logger } from "../logging/logger.ts";
import { withLogLimit } from "./log-limit.ts";

type Line = LogFields & { readonly level: string; readonly message: string };

function limited() {
  const lines: Line[] = [];
  const counted: string[] = [];
  const timers = new Set<() => void>();
  const time = { elapsed: 0 };
  const write = (level: string) => (fields: LogFields, message: string) =>
    void lines.push({ ...fields, level, message });
  const logger: Logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    isLevelEnabled: () => true,
  };
  const log = withLogLimit(logger, {
    clock: { now: () => 0, elapsed: () => time.elapsed },
    scheduler: {
      schedule(_, task) {
        timers.add(task);
        return { [Symbol.dispose]: () => void timers.delete(task) };
      },
    },
    onLeftOut: (level) => counted.push(level),
  });
  const fire = (): void => {
    for (const task of timers) {
      timers.delete(task);
      task();
    }
  };
  return { log, lines, counted, timers, time, fire };
}

const fail = (text: string): Error => new Error(text);
const failElsewhere = (text: string): Error => new Error(text);

describe("the log", () => {
  it("has the first lines of a reason, and then how many it left out", () => {
    const { log, lines, counted, time } = limited();
    for (let index = 0; index < 1_000; index++) {
      log.error({ component: "stream", error: fail(`client text ${index}`), uri: `/x/${index}` }, "unexpected error");
    }
    expect(lines).toHaveLength(20);
    expect(counted).toEqual(Array(980).fill("error"));
    time.elapsed += 10_000;
    log.error({ component: "stream", error: fail("again") }, "unexpected error");
    expect(lines.at(-1)).toMatchObject({ leftOut: 980, message: "unexpected error" });
    expect(lines).toHaveLength(21);
  });

  it("has other reasons beside one that is repeated", () => {
    const { log, lines } = limited();
    for (let index = 0; index < 100; index++) log.error({ error: fail("many") }, "request panicked");
    lines.length = 0;
    log.error({ error: failElsewhere("one") }, "request panicked");
    log.error({ component: "audit", error: fail("one") }, "request panicked");
    log.warn({ error: fail("one") }, "request panicked");
    log.error({}, "request panicked");
    log.error({ error: "no error" }, "hook failed");
    expect(lines).toHaveLength(5);
  });

  it("says how many were left out when nothing follows", () => {
    const { log, lines, timers, fire } = limited();
    for (let index = 0; index < 30; index++) log.warn({ component: "readyz", check: "store" }, "health check failed");
    expect(timers.size).toBe(1);
    fire();
    expect(lines.at(-1)).toEqual({
      level: "warn",
      component: "readyz",
      leftOut: 10,
      cause: "health check failed",
      message: "lines of the log were left out",
    });
    fire();
    expect(lines).toHaveLength(21);
  });

  it("says so when the server ends", () => {
    const { log, lines, timers } = limited();
    for (let index = 0; index < 21; index++) log.error({}, "a");
    log[Symbol.dispose]();
    expect(lines.at(-1)).toMatchObject({ leftOut: 1, cause: "a" });
    expect(timers.size).toBe(0);
  });

  it("keeps to its limit however many reasons there seem to be, and counts what it leaves out", () => {
    const { log, lines, counted, fire } = limited();
    for (let index = 0; index < 5_000; index++) log.error({}, `text of a client ${index}`);
    // The first line of each of 200 reasons, and one for all further ones.
    expect(lines).toHaveLength(201);
    expect(counted).toHaveLength(4_799);
    fire();
    expect(lines.slice(201).map(({ leftOut }) => leftOut)).toEqual([4_799]);
  });

  it("writes a bounded number of lines of all reasons together, in the first burst and over time", () => {
    const { log, lines, time, fire } = limited();
    const flood = (rounds: number): void => {
      for (let round = 0; round < rounds; round++) for (let n = 0; n < 150; n++) log.warn({}, `reason ${n}`);
    };
    flood(20);
    expect(lines).toHaveLength(150);
    lines.length = 0;
    for (let second = 0; second < 60; second++) {
      time.elapsed += 1_000;
      flood(20);
    }
    // Five a second, and each reason once a minute.
    expect(lines.length).toBeGreaterThanOrEqual(300);
    expect(lines.length).toBeLessThanOrEqual(450);
    fire();
    const left = lines.slice(-21);
    const written = lines.filter(({ message }) => message.startsWith("reason")).length + 150;
    const named = lines.reduce((sum, { leftOut = 0 }) => sum + leftOut, 0);
    expect(left.at(-1)).toMatchObject({ level: "warn", cause: "other reasons" });
    expect(written + named).toBe(61 * 20 * 150);
  });

  it("writes a new reason during a flood of many", () => {
    const { log, lines } = limited();
    for (let index = 0; index < 5_000; index++) log.warn({}, `reason ${index % 150}`);
    lines.length = 0;
    log.error({ component: "store" }, "the disk is full");
    expect(lines).toMatchObject([{ message: "the disk is full" }]);
  });

  it("leaves other levels alone", () => {
    const { log, lines, counted } = limited();
    for (let index = 0; index < 50; index++) {
      log.info({}, "a");
      log.debug({}, "a");
    }
    expect(lines).toHaveLength(100);
    expect(counted).toEqual([]);
  });
});
