import { expect, it } from "vitest";
import { asError, bothDone, caught, observeCaught, throwLater } from "./caught.ts";

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

it("shows its errors to observers, also where the owner drops them", () => {
  const seen: unknown[] = [];
  const error = new RangeError("dropped");
  const callback = caught(
    () => undefined,
    () => {
      throw error;
    },
  );
  const observing = observeCaught((thrown) => void seen.push(thrown));
  callback();
  observing[Symbol.dispose]();
  callback();
  expect(seen).toEqual([error]);
});

/** The first error that nothing catches. */
async function firstUncaught(work: () => void): Promise<unknown> {
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
  work();
  const error = await thrown;
  for (const listener of others) process.on("uncaughtException", listener);
  return error;
}

it("throws later what must not stop the work at hand", async () => {
  let isLeft = false;
  const error = await firstUncaught(() => {
    throwLater(new Error("later"));
    isLeft = true;
  });
  expect([error, isLeft]).toEqual([new Error("later"), true]);
});

it("reports the error of one work once, however many wait behind it", async () => {
  let done: Promise<void> | undefined;
  const error = await firstUncaught(() => {
    done = bothDone(Promise.resolve(), Promise.reject(new Error("one look")));
  });
  expect(error).toEqual(new Error("one look"));
  await expect(bothDone(done ?? Promise.reject(), Promise.resolve())).resolves.toBeUndefined();
});

it("makes an error of anything thrown", () => {
  const error = new Error("one");
  expect(asError(error)).toBe(error);
  expect(asError("a text")).toMatchObject({ message: "a text", cause: "a text" });
});
