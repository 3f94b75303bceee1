import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { takeProcessErrors } from "./take-process-errors.ts";

function startTaking() {
  const source = new EventEmitter();
  const reported: string[] = [];
  let now = 0;
  let givenUp = 0;
  const options = { source, now: () => now, onRepeated: () => void givenUp++ };
  const taken = takeProcessErrors(options, {
    report: (error, { component }) => void reported.push(`${component}: ${String(error)}`),
  });
  return {
    source,
    reported,
    taken,
    givenUp: () => givenUp,
    failAt(second: number, times = 1) {
      now = second * 1_000;
      for (let time = 0; time < times; time++) source.emit("uncaughtException", new Error("again"));
    },
  };
}

it("reports errors that nothing has caught, until it is disposed", () => {
  const { source, reported, taken } = startTaking();
  source.emit("uncaughtException", new Error("in a timer"), "uncaughtException");
  source.emit("unhandledRejection", "a text", Promise.resolve());
  expect(reported).toEqual(["uncaught-exception: Error: in a timer", "unhandled-rejection: a text"]);
  taken[Symbol.dispose]();
  expect(source.eventNames()).toEqual([]);
});

it("gives the process up once, when errors occur in ten seconds of one minute", () => {
  const { failAt, givenUp, reported } = startTaking();
  for (let second = 0; second < 9; second++) failAt(second * 6);
  expect(givenUp()).toBe(0);
  failAt(54);
  failAt(55);
  expect([givenUp(), reported.length]).toEqual([1, 11]);
});

it.each<[string, (failAt: (second: number, times?: number) => void) => void]>([
  ["many errors of one cause", (failAt) => failAt(1, 1_000)],
  [
    "two bursts in a row",
    (failAt) => {
      failAt(1, 500);
      failAt(2, 500);
    },
  ],
  ["one error in seven seconds, for ever", (failAt) => Array.from({ length: 500 }, (_, at) => failAt(at * 7))],
])("goes on after %s", (_, fail) => {
  const { failAt, givenUp } = startTaking();
  fail(failAt);
  expect(givenUp()).toBe(0);
});
