import { once } from "node:events";
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { expect, it } from "vitest";
import { createBodyReadThrottle } from "../backpressure/body-read-throttle.ts";
import { readBody } from "./read-body.ts";

/** Reads a body of which `arrived` is there; `late` follows, and then its end. */
async function reading(
  arrived: string,
  late: string,
  onBytes: (count: number) => void = () => undefined,
  leavesEnd = false,
) {
  const stream = new PassThrough();
  if (arrived !== "") stream.write(arrived);
  let timers = 0;
  const read = async (): Promise<Uint8Array> =>
    await readBody(stream, {
      limitBytes: 1_000,
      contentLength: arrived.length + late.length,
      stallTimeoutMs: 1_000,
      scheduler: {
        schedule() {
          timers++;
          return { [Symbol.dispose]: () => timers-- };
        },
      },
      throttle: createBodyReadThrottle(),
      leavesEnd,
      onBytes,
    });
  const bytes = read();
  const timersWhileReading = timers;
  const ended = once(stream, "end");
  stream.end(late);
  return {
    body: bytes.then((whole) => Buffer.from(whole).toString()),
    ended,
    timersWhileReading,
    timersLeft: () => timers,
    stream,
  };
}

it("reads a short body that has arrived as a whole without a timer, and takes its end", async () => {
  let counted = 0;
  const { body, ended, timersWhileReading } = await reading("body", "", (count) => {
    counted += count;
  });
  expect(timersWhileReading).toBe(0);
  expect(await body).toBe("body");
  expect(counted).toBe(4);
  await ended;
});

it("leaves the end of a body that has arrived to an exchange that reads it by itself", async () => {
  const { body, ended, stream } = await reading("body", "", () => undefined, true);
  expect(await body).toBe("body");
  await nextTurn();
  expect(stream.readableEnded).toBe(false);
  stream.read(0);
  await ended;
});

it("waits for what has not arrived yet", async () => {
  const { body, ended, timersWhileReading, timersLeft } = await reading("bo", "dy");
  expect(timersWhileReading).toBe(1);
  expect(await body).toBe("body");
  await ended;
  expect(timersLeft()).toBe(0);
});

it("rejects a body that may not be read, whether or not it has arrived", async () => {
  const refusal = new Error("no place");
  const refuse = (): void => {
    throw refusal;
  };
  await expect((await reading("body", "", refuse)).body).rejects.toBe(refusal);
  const { body } = await reading("", "body", refuse);
  await expect(body).rejects.toBe(refusal);
});

it("reads nothing past the limit", async () => {
  const error = await (await reading("x".repeat(1_001), "")).body.catch((given: unknown) => given);
  expect(isApiError(error) && error.code).toBe(413);
});
