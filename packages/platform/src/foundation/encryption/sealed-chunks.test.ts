import { expect, it } from "vitest";
import { createChunkOpener, createChunkSealer } from "./sealed-chunks.ts";

const KEY = Buffer.alloc(32, 3);
const HEAD = Buffer.from("head");
const [A, B] = [Buffer.from("chunk a"), Buffer.from("chunk b")];

/** Two chunks as they were sealed, and what becomes of those that are given to an opener in their place. */
function openAll(change: (a: Uint8Array, b: Uint8Array) => readonly [Uint8Array, boolean][], head = HEAD) {
  const sealer = createChunkSealer(KEY, HEAD);
  const opener = createChunkOpener(KEY, head);
  return change(sealer.seal(A, false), sealer.seal(B, true)).map(([sealed, isLast]) => opener.open(sealed, isLast));
}

it.each<[string, Parameters<typeof openAll>[0], readonly unknown[]]>([
  [
    "opens what was sealed",
    (a, b) => [
      [a, false],
      [b, true],
    ],
    [A, B],
  ],
  ["ends only where it was ended", (a) => [[a, true]], [undefined]],
  [
    "does not go on behind its end",
    (a, b) => [
      [a, false],
      [b, false],
    ],
    [A, undefined],
  ],
  [
    "is in its order",
    (a, b) => [
      [b, true],
      [a, false],
    ],
    [undefined, undefined],
  ],
  [
    "has every chunk once",
    (a) => [
      [a, false],
      [a, false],
    ],
    [A, undefined],
  ],
])("a stream %s", (_, change, expected) => {
  expect(openAll(change)).toEqual(expected);
});

it("a stream belongs to its head", () => {
  expect(openAll((a) => [[a, false]], Buffer.from("another"))).toEqual([undefined]);
});
