import { caught } from "@postern/apimachinery/steps/caught";
import { expect, it, onTestFinished } from "vitest";
import { manualTime } from "../runtime/testing/manual-time.ts";
import { createLogger } from "./create-logger.ts";
import { reportDroppedErrors } from "./dropped-errors.ts";
import { createFaults } from "./faults.ts";

function following() {
  const lines: string[] = [];
  const counted: string[] = [];
  const logger = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
  const time = manualTime();
  const faults = createFaults({ logger, onFault: (component) => void counted.push(component) });
  const following = reportDroppedErrors(faults, time.scheduler);
  onTestFinished(() => following[Symbol.dispose]());
  return { lines, counted, logger, time, following };
}

const failing = (error: Error, owner: (error: unknown) => void): void =>
  caught(owner, () => {
    throw error;
  })();

it("reports an error that its owner has dropped", () => {
  const { lines, counted, time } = following();
  failing(new TypeError("dropped"), () => undefined);
  expect(counted).toEqual([]);
  time.advance(60_000);
  expect(counted).toEqual(["callback"]);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("dropped");
});

it.each<[string, (error: unknown) => unknown]>([
  ["the owner has logged", (error) => error],
  ["is the cause of what the owner has logged", (cause) => new Error("the request failed", { cause })],
])("reports no error a second time that %s", (_, logged) => {
  const { lines, counted, logger, time } = following();
  failing(new TypeError("taken"), (error) => logger.error({ error: logged(error) }, "unexpected error"));
  time.advance(60_000);
  expect([lines.length, counted]).toEqual([1, []]);
});

it("reports none that code throws on purpose, and none once it is disposed", () => {
  const { lines, time, following: reporting } = following();
  failing(new Error("the body has no place"), () => undefined);
  failing(new TypeError("while the server closes"), () => undefined);
  reporting[Symbol.dispose]();
  failing(new TypeError("later"), () => undefined);
  time.advance(60_000);
  expect(lines).toEqual([]);
});
