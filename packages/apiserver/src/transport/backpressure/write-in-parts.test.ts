import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { endInParts, PART_BYTES, writeInParts } from "./write-in-parts.ts";

/** Takes a write when `take` is called. */
function slowWritable() {
  const writes: Buffer[] = [];
  const waiting: (() => void)[] = [];
  const writable = new Writable({
    writev(chunks, callback) {
      writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk)));
      waiting.push(callback);
    },
  });
  return { writable, writes, take: () => waiting.shift()?.() };
}

it("gives a slow reader one part at a time, of pieces that lie in several places", async () => {
  const { writable, writes, take } = slowWritable();
  const pieces = [3, 2 * PART_BYTES, 0, 5, PART_BYTES, 7].map((size, at) => Buffer.alloc(size, at + 1));
  writeInParts(writable, pieces, () => writable.end());
  const all = Buffer.concat(pieces);
  for (let count = 1; ; count++) {
    expect(writes).toHaveLength(count);
    expect(writable.writableLength).toBeLessThanOrEqual(PART_BYTES);
    if (writable.writableEnded) break;
    take();
    await expect.poll(() => writes.length).toBe(count + 1);
  }
  expect(writes.map(({ length }) => length)).toEqual([PART_BYTES, PART_BYTES, PART_BYTES, 15]);
  expect(Buffer.concat(writes).equals(all)).toBe(true);
});

it("writes no further once the stream is destroyed", async () => {
  const { writable, writes, take } = slowWritable();
  writeInParts(writable, [Buffer.alloc(3 * PART_BYTES)], () => expect.unreachable());
  writable.destroy();
  take();
  await new Promise(setImmediate);
  expect(writes).toHaveLength(1);
});

it("is done at once with nothing to write", () => {
  const { writable, writes } = slowWritable();
  writeInParts(writable, [], () => writable.end());
  expect([writable.writableEnded, writes]).toEqual([true, []]);
});

it.each([
  ["a shorter one at once", 8, [8 * PART_BYTES]],
  ["a longer one in parts", 9, [PART_BYTES]],
])("ends an answer: %s", (_, parts, lengths) => {
  const { writable, writes } = slowWritable();
  const pieces = Array.from({ length: parts }, () => Buffer.alloc(PART_BYTES));
  endInParts(writable, pieces, parts * PART_BYTES);
  expect(writes.map(({ length }) => length)).toEqual(lengths);
  expect(writable.writableEnded).toBe(parts === 8);
});
