import { expect, it } from "vitest";
import { createPooledRandom } from "./system-runtime.ts";

function counting() {
  let next = 0;
  return createPooledRandom((length) => Uint8Array.from({ length }, () => next++ % 251));
}

it("gives pieces of any length, and never the same bytes twice", () => {
  const { bytes } = counting();
  let last = -1;
  // 16 divides the pool: none of it is left over.
  for (let count = 0; count < 1_000; count++) {
    const given = bytes(16);
    for (const byte of given) {
      last = (last + 1) % 251;
      expect(byte).toBe(last);
    }
  }
  for (const length of [0, 1, 64, 65, 4096, 10_000]) expect(bytes(length)).toHaveLength(length);
});

it("gives each part its own memory budget", () => {
  const { bytes } = counting();
  const [first, second] = [bytes(32), bytes(32)];
  first.fill(0xff);
  expect([...second]).toEqual(Array.from({ length: 32 }, (_, at) => 32 + at));
  expect([first.buffer.byteLength, second.buffer.byteLength]).toEqual([32, 32]);
});
