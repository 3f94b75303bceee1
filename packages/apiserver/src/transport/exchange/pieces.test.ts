import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { Pieces } from "./pieces.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

it("are one piece, in their order", () => {
  const pieces = new Pieces();
  const texts = Array.from({ length: 1_000 }, (_, at) => `${at},`);
  for (const text of texts) pieces.add(Buffer.from(text));
  expect(pieces.take().toString()).toBe(texts.join(""));
  expect(pieces.take()).toHaveLength(0);
  const only = Buffer.from("only");
  pieces.add(only);
  expect(pieces.take()).toBe(only);
});

it("pieces of a byte each take about as much memory as their bytes", () => {
  const source = Buffer.alloc(64 << 10, "x");
  const pieces = new Pieces();
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  for (let count = 0; count < 300_000; count++)
    pieces.add(source.subarray(count % source.length, (count % source.length) + 1));
  // They took 30 MB.
  expect(used() - before).toBeLessThan(4 << 20);
  expect(pieces.take()).toHaveLength(300_000);
});
