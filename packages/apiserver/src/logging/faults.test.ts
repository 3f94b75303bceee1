import { expect, it } from "vitest";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createFaults, guarded, withGuardedTimers } from "./faults.ts";
import { type LogFields, silentLogger } from "./logger.ts";

function recording() {
  const logged: LogFields[] = [];
  const counted: string[] = [];
  const logger = { ...silentLogger, error: (fields: LogFields) => void logged.push(fields) };
  return { logged, counted, faults: createFaults({ logger, onFault: (component) => void counted.push(component) }) };
}

it("logs an error once with its request, and counts it", () => {
  const { logged, counted, faults } = recording();
  const error = new Error("x");
  faults.report(error, { component: "stream", auditId: "1", method: "GET", uri: "/api" });
  expect(logged).toEqual([{ error, component: "stream", auditId: "1", method: "GET", uri: "/api" }]);
  expect(counted).toEqual(["stream"]);
});

it("does not fail where the log or the count fails", () => {
  const faults = createFaults({
    logger: {
      ...silentLogger,
      error: () => {
        throw new Error("EPIPE");
      },
    },
  });
  expect(() => faults.report(new Error("x"), { component: "stream" })).not.toThrow();
});

it.each([
  [
    "a function that throws",
    () => {
      throw new Error("x");
    },
  ],
  [
    "a function that rejects",
    async () => {
      await Promise.resolve();
      throw new Error("x");
    },
  ],
])("reports the error of %s, and ends what it worked on", async (_, work) => {
  const { counted, faults } = recording();
  const ended = await new Promise((resolve) => guarded(faults, "transport", work, () => resolve("ended"))());
  expect([ended, counted]).toEqual(["ended", ["transport"]]);
});

it("reports the error of the end as well", () => {
  const { counted, faults } = recording();
  const fail = (): never => {
    throw new Error("x");
  };
  guarded(faults, "transport", fail, fail)();
  expect(counted).toEqual(["transport", "transport"]);
});

it("reports errors of timers, synchronous or not", async () => {
  const counted: string[] = [];
  let done: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (done = resolve));
  const faults = createFaults({
    logger: silentLogger,
    onFault: (component) => {
      if (counted.push(component) === 2) done();
    },
  });
  const { scheduler } = withGuardedTimers(systemRuntime, faults);
  // The real timers do not keep the process.
  const kept = setInterval(() => undefined, 1_000);
  scheduler.schedule(0, () => {
    throw new Error("x");
  });
  scheduler.schedule(0, () => Promise.reject(new Error("y")) as unknown as undefined);
  await all;
  clearInterval(kept);
  expect(counted).toEqual(["timer", "timer"]);
});
