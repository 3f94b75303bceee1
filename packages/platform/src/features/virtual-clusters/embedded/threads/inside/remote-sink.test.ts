import { expect, it } from "vitest";
import { RemoteSink, WINDOW } from "./remote-sink.ts";

function setup() {
  const sent: Uint8Array[] = [];
  const all = { bytes: 0 };
  const note = (_: string, { bytes }: { readonly bytes?: Uint8Array }): void => void sent.push(bytes!);
  const sink = new RemoteSink(1, { note } as never, all);
  return { sink, sent, all };
}

it("has one window of a large chunk on its way, however long the chunk is", async () => {
  const { sink, sent, all } = setup();
  const chunk = Buffer.alloc(3 * WINDOW + 5, "x").fill("y", WINDOW);
  const written = sink.write(chunk);
  for (let count = 1; count <= 4; count++) {
    await expect.poll(() => sent.length).toBe(count);
    const { length } = sent.at(-1)!;
    expect([sink.bufferedBytes, all.bytes]).toEqual([length, length]);
    sink.taken(length);
  }
  expect(await written).toBe(true);
  expect(Buffer.concat(sent).equals(chunk)).toBe(true);
});

it("sends no further part of a chunk once its reader has gone", async () => {
  const { sink, sent, all } = setup();
  const written = sink.write("x".repeat(3 * WINDOW));
  sink.end();
  expect([await written, sent.length, all.bytes]).toEqual([false, 1, 0]);
});
