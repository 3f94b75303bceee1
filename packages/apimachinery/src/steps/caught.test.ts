import { expect, it } from "vitest";
import { asError, caught, throwLater } from "./caught.ts";

it("gives what a callback throws to its owner, and nothing to the caller", () => {
  const failed: unknown[] = [];
  const callback = caught(
    (error) => void failed.push(error),
    (a: number, b: number) => {
      if (a > b) throw new RangeError(`${a} > ${b}`);
    },
  );
  callback(1, 2);
  expect(failed).toEqual([]);
  callback(2, 1);
  expect(failed).toEqual([new RangeError("2 > 1")]);
});

it("throws later what must not stop the work at hand", async () => {
  const taken: unknown[] = [];
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const thrown = new Promise<void>((resolve) =>
    process.once("uncaughtException", (error) => {
      taken.push(error);
      resolve();
    }),
  );
  throwLater(new Error("later"));
  expect(taken).toEqual([]);
  await thrown;
  for (const listener of others) process.on("uncaughtException", listener);
  expect(taken).toEqual([new Error("later")]);
});

it("makes an error of anything thrown", () => {
  const error = new Error("one");
  expect(asError(error)).toBe(error);
  expect(asError("a text")).toMatchObject({ message: "a text", cause: "a text" });
});
