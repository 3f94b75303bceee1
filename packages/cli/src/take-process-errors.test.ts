import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { takeProcessErrors } from "./take-process-errors.ts";

it("reports errors that nothing has caught, until it is disposed", () => {
  const source = new EventEmitter();
  const reported: string[] = [];
  const taken = takeProcessErrors(source, {
    report: (error, { component }) => void reported.push(`${component}: ${String(error)}`),
  });
  source.emit("uncaughtException", new Error("in a timer"), "uncaughtException");
  source.emit("unhandledRejection", "a text", Promise.resolve());
  expect(reported).toEqual(["uncaught-exception: Error: in a timer", "unhandled-rejection: a text"]);
  taken[Symbol.dispose]();
  expect(source.eventNames()).toEqual([]);
});
