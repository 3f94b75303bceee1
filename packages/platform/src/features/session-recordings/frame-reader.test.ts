import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as library from "ws";
import { FrameFault, FrameReader } from "./frame-reader.ts";

/** Its types leave them out. */
const { Receiver, Sender } = library as any;

type Frame = { readonly opcode: number; readonly payload: Uint8Array; readonly isFinal: boolean };

const MASK = Buffer.from([0x12, 0xf4, 0x00, 0x9b]);

/** As library `ws` encodes it. */
function encoded({ opcode, payload, isFinal }: Frame, mask: boolean): Buffer {
  const options = { fin: isFinal, rsv1: false, opcode, mask, readOnly: false, maskBuffer: MASK, generateMask: fill };
  return Buffer.concat(Sender.frame(Buffer.from(payload), options).map((part: Uint8Array) => Buffer.from(part)));
}
const fill = (mask: Buffer): void => void MASK.copy(mask);

/** Messages in one or more frames, with pings between the frames. */
const messages = fc.array(
  fc.record({
    parts: fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 }),
    long: fc.constantFrom(0, 0, 0, 126, 65_535, 65_536, 70_000),
    pings: fc.array(fc.uint8Array({ maxLength: 125 }), { maxLength: 2 }),
  }),
  { maxLength: 6 },
);

type Message = { readonly parts: Uint8Array[]; readonly long: number; readonly pings: Uint8Array[] };

function framesOf({ parts, long, pings }: Message): Frame[] {
  const payloads = long === 0 ? parts : [...parts, new Uint8Array(long).fill(7)];
  return payloads.flatMap((payload, index) => [
    { opcode: index === 0 ? 2 : 0, payload, isFinal: index === payloads.length - 1 },
    ...(index === 0 ? pings.map((ping) => ({ opcode: 9, payload: ping, isFinal: true })) : []),
  ]);
}

/** Cuts bytes at these places, which are taken modulo the length. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
}

function read(pieces: readonly Buffer[], masked: boolean): Buffer[] {
  const found: Buffer[] = [];
  let parts: Buffer[] = [];
  const reader = new FrameReader({
    masked,
    onPart({ bytes, isFirst, isLast }) {
      if (isFirst) parts = [];
      parts.push(Buffer.from(bytes));
      if (isLast) found.push(Buffer.concat(parts));
    },
  });
  for (const piece of pieces) reader.read(piece);
  return found;
}

async function readByLibrary(bytes: Buffer, isServer: boolean): Promise<Buffer[] | undefined> {
  const found: Buffer[] = [];
  const receiver = new Receiver({ isServer, binaryType: "nodebuffer", allowSynchronousEvents: true });
  receiver.on("message", (data: Buffer) => found.push(Buffer.from(data)));
  return await new Promise((resolve) => {
    receiver.on("error", () => resolve(undefined));
    receiver.write(bytes, (error: unknown) => resolve(error ? undefined : found));
  });
}

/** Comparing buffers member by member takes minutes. */
const texts = (buffers: readonly Buffer[] | undefined) => buffers?.map((buffer) => buffer.toString("latin1"));

describe.each([
  ["a server", false],
  ["a client", true],
] as const)("frames of %s", (_who, masked) => {
  it("are read as library ws reads them, wherever they are cut", async () => {
    await fc.assert(
      fc.asyncProperty(messages, fc.array(fc.nat(), { maxLength: 12 }), async (sent, places) => {
        const bytes = Buffer.concat(sent.flatMap(framesOf).map((frame) => encoded(frame, masked)));
        const pieces = cut(bytes, places);
        expect(texts(read(pieces, masked))).toEqual(texts(await readByLibrary(bytes, masked)));
      }),
      { numRuns: 200 },
    );
  });

  it("of random bytes are refused wherever library ws refuses them, and read alike otherwise", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 14, maxLength: 40 }), async (random) => {
        // Text is checked for UTF-8 by the library, and a close for its code: neither is for us to say.
        const bytes = Buffer.from(random);
        fc.pre(((bytes[0] ?? 0) & 0x0f) !== 1 && ((bytes[0] ?? 0) & 0x0f) !== 8);
        const byLibrary = await readByLibrary(bytes.subarray(0, 2 + (masked ? 4 : 0)), masked);
        const ours = (): unknown => read([bytes.subarray(0, 2 + (masked ? 4 : 0))], masked);
        if (byLibrary === undefined && ((bytes[1] ?? 0) & 0x7f) <= 125) expect(ours).toThrow(FrameFault);
        if (byLibrary !== undefined) expect(ours).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });

  it("byte by byte give the same", () => {
    const sent = [Buffer.from([1, 65, 66]), Buffer.alloc(70_000, 1), Buffer.alloc(0), Buffer.from([3])];
    const bytes = Buffer.concat(sent.map((payload) => encoded({ opcode: 2, payload, isFinal: true }, masked)));
    expect(
      texts(
        read(
          Array.from(bytes, (byte) => Buffer.from([byte])),
          masked,
        ),
      ),
    ).toEqual(texts(sent));
  });
});

describe("a frame reader", () => {
  it("says where in its frames it is", () => {
    const reader = new FrameReader({ masked: false, onPart: () => undefined });
    const place = () => [reader.isBetweenMessages, reader.bytesLeft, reader.endsMessage];
    expect(place()).toEqual([true, undefined, true]);
    reader.read(Buffer.from([0x82]));
    expect(place()[0]).toBe(false);
    reader.read(Buffer.from([5, 1]));
    expect(place()).toEqual([false, 4, true]);
    reader.read(Buffer.from([0, 0, 0, 0]));
    expect(place()).toEqual([true, undefined, true]);
    reader.read(Buffer.from([0x02, 3, 1]));
    expect(place()).toEqual([false, 2, false]);
  });

  it.each([
    ["reserved bits", [0xc2, 0]],
    ["a reserved opcode", [0x83, 0]],
    ["a continuation of nothing", [0x80, 0]],
    ["a message within a message", [0x02, 0, 0x82, 0]],
    ["a ping in parts", [0x09, 0]],
    ["a mask that servers do not send", [0x82, 0x80, 0, 0, 0, 0]],
    ["more after the close", [0x88, 0, 0x82, 0]],
    ["a length beyond all numbers", [0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]],
  ])("refuses %s", (_what, bytes) => {
    expect(() => read([Buffer.from(bytes)], false)).toThrow(FrameFault);
  });
});
