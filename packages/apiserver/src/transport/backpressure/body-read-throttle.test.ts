import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createBodyReadThrottle } from "./body-read-throttle.ts";

const MEBIBYTE = 1 << 20;

/** Streams of which each has so many bytes in parts of 16 KiB, and how many bytes of each came until the event loop has turned so often. */
async function cameOf(sizes: readonly number[], turns: number) {
  const { join } = createBodyReadThrottle();
  const came = sizes.map(() => 0);
  const readings = sizes.map((size, at) => {
    const stream = new PassThrough({ highWaterMark: size });
    for (let left = size; left > 0; left -= 16_384) stream.write(Buffer.alloc(Math.min(left, 16_384)));
    const reading = join(stream);
    stream.on("data", ({ length }: Buffer) => {
      came[at] = (came[at] ?? 0) + length;
      reading.came(length);
    });
    return { stream, reading };
  });
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  return { came, readings };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

it("reads about as much of many long bodies in each turn as one may have, and all of them in the end (security book 50)", async () => {
  const sizes = Array.from({ length: 20 }, () => MEBIBYTE);
  const { came } = await cameOf(sizes, 1);
  // A part of each is read before it is known that it is long.
  expect(sum(came)).toBeLessThan(20 * 64 * 1024 + MEBIBYTE);
  expect(sum((await cameOf(sizes, 200)).came)).toBe(20 * MEBIBYTE);
});

it("never keeps a short body waiting", async () => {
  const { came } = await cameOf([...Array.from({ length: 20 }, () => MEBIBYTE), 40_000], 1);
  expect(came.at(-1)).toBe(40_000);
});

it("ignores the stream of a body that is no longer read", async () => {
  const { readings } = await cameOf(
    Array.from({ length: 20 }, () => MEBIBYTE),
    1,
  );
  const held = readings.filter(({ stream }) => stream.isPaused());
  expect(held.length).toBeGreaterThan(5);
  for (const { reading } of held) reading[Symbol.dispose]();
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(held.every(({ stream }) => stream.isPaused())).toBe(true);
});
