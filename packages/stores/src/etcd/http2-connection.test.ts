// The connection against a peer that sends exactly the frames of a test.

import { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { encodeHeaders } from "./hpack.ts";
import { Http2Connection, type StreamEnd } from "./http2-connection.ts";
import { FrameReader, FrameWriter, flag, frameType, http2Error, setting, settingsOf, uint32 } from "./http2-frames.ts";

const PREFACE_BYTES = 24;
const BLOCK = encodeHeaders([[":method", "POST"]]);
const OK = encodeHeaders([[":status", "200"]]);
const TRAILERS = encodeHeaders([["grpc-status", "0"]]);
const NOTHING = Buffer.alloc(0);

type Frame = { readonly type: number; readonly flags: number; readonly id: number; readonly payload: Buffer };

const turn = (): Promise<void> =>
  new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

function connectPair() {
  const received: Frame[] = [];
  const events: string[] = [];
  const reader = new FrameReader((type, flags, id, payload) => received.push({ type, flags, id, payload }));
  let skipped = 0;
  const client: Duplex = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const rest = chunk.subarray(Math.min(PREFACE_BYTES - skipped, chunk.length));
      skipped += chunk.length - rest.length;
      reader.take(Buffer.from(rest));
      done();
    },
  });
  const connection = new Http2Connection(client, {
    accepted: () => events.push("accepted"),
    leaving: () => events.push("leaving"),
    closed: (error) => events.push(`closed: ${error?.message}`),
  });
  const server = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      client.push(chunk);
      done();
    },
  });
  const answer = new FrameWriter(server);
  const send = async (type: number, flags: number, id: number, payload: Uint8Array = NOTHING): Promise<void> => {
    answer.frame(type, flags, id, payload);
    answer.flush();
    await turn();
  };
  const open = () => {
    const data: Buffer[] = [];
    const ends: StreamEnd[] = [];
    const stream = connection.open(BLOCK, { data: (chunk) => data.push(chunk), closed: (end) => ends.push(end) });
    return { stream, data, ends };
  };
  const sent = async (type: number): Promise<Frame[]> => {
    await turn();
    return received.splice(0).filter((frame) => frame.type === type);
  };
  return { client, connection, events, send, open, sent };
}

describe("a connection", () => {
  test("begins with settings that forbid a dynamic table and pushes, and acknowledges those of the server once", async () => {
    const { sent, send, events } = connectPair();
    const [first] = await sent(frameType.settings);
    expect(first?.payload.subarray(0, 12)).toEqual(
      settingsOf([
        [setting.headerTableSize, 0],
        [setting.enablePush, 0],
      ]),
    );
    await send(frameType.settings, 0, 0);
    await send(frameType.settings, flag.ack, 0);
    await send(frameType.settings, 0, 0);
    expect((await sent(frameType.settings)).map(({ flags }) => flags)).toEqual([flag.ack, flag.ack]);
    expect(events).toEqual(["accepted"]);
  });

  test("sends no more than the windows allow, and goes on when they open", async () => {
    const { send, open, sent } = connectPair();
    await send(frameType.settings, 0, 0, settingsOf([[setting.initialWindowSize, 10]]));
    const { stream } = open();
    stream.write(Buffer.alloc(30, "a"), false);
    stream.write(Buffer.alloc(5, "b"), true);
    const lengths = async () => (await sent(frameType.data)).map(({ payload, flags }) => [payload.length, flags]);
    expect(await lengths()).toEqual([[10, 0]]);
    await send(frameType.windowUpdate, 0, 1, uint32(15));
    expect(await lengths()).toEqual([[15, 0]]);
    await send(frameType.settings, 0, 0, settingsOf([[setting.initialWindowSize, 17]]));
    expect(await lengths()).toEqual([
      [5, 0],
      [2, 0],
    ]);
    await send(frameType.windowUpdate, 0, 1, uint32(100));
    expect(await lengths()).toEqual([[3, flag.endStream]]);
  });

  test("shares the window of the connection among streams", async () => {
    const { send, open, sent } = connectPair();
    await send(frameType.settings, 0, 0, settingsOf([[setting.initialWindowSize, 1 << 20]]));
    for (let count = 0; count < 3; count++) open().stream.write(Buffer.alloc(30_000), true);
    const bytes = async () => (await sent(frameType.data)).reduce((sum, { payload }) => sum + payload.length, 0);
    expect(await bytes()).toBe(65_535);
    await send(frameType.windowUpdate, 0, 0, uint32(1 << 20));
    expect(await bytes()).toBe(90_000 - 65_535);
  });

  test("opens as many streams as the server has places for", async () => {
    const { send, open, sent, connection } = connectPair();
    await send(frameType.settings, 0, 0, settingsOf([[setting.maxConcurrentStreams, 1]]));
    const [first, second, third] = [open(), open(), open()];
    for (const { stream } of [first, second, third]) stream.write(Buffer.from("x"), true);
    expect((await sent(frameType.headers)).map(({ id }) => id)).toEqual([1]);
    second.stream.cancel();
    await send(frameType.headers, flag.endHeaders | flag.endStream, 1, OK);
    expect(first.ends).toEqual([{ code: http2Error.none }]);
    expect((await sent(frameType.headers)).map(({ id }) => id)).toEqual([3]);
    expect([second.ends.length, connection.streams]).toEqual([0, 1]);
    expect(third.ends).toEqual([]);
  });

  test("reads padded frames, continued header blocks and informational responses", async () => {
    const { send, open } = connectPair();
    const { stream, data, ends } = open();
    stream.write(NOTHING, true);
    await send(frameType.headers, flag.endHeaders, 1, encodeHeaders([[":status", "103"]]));
    expect(stream.headers).toBeUndefined();
    const padded = flag.padded | flag.priority;
    await send(
      frameType.headers,
      padded,
      1,
      Buffer.concat([Buffer.of(2, 0, 0, 0, 0, 9), OK.subarray(0, 4), Buffer.alloc(2)]),
    );
    await send(frameType.continuation, 0, 1, OK.subarray(4, 6));
    await send(frameType.continuation, flag.endHeaders, 1, OK.subarray(6));
    expect(stream.headers?.get(":status")).toBe("200");
    await send(frameType.data, flag.padded, 1, Buffer.from([1, 65, 66, 0]));
    await send(frameType.headers, flag.endHeaders | flag.endStream, 1, TRAILERS);
    expect(Buffer.concat(data).toString()).toBe("AB");
    expect(stream.trailers?.get("grpc-status")).toBe("0");
    expect(ends).toEqual([{ code: http2Error.none }]);
  });

  test("gives back the windows of what it has received, also of cancelled streams", async () => {
    const { send, open, sent } = connectPair();
    const { stream } = open();
    await sent(frameType.windowUpdate);
    const part = Buffer.alloc(16_384);
    for (let count = 0; count < 128; count++) await send(frameType.data, 0, 1, part);
    expect(await sent(frameType.windowUpdate)).toMatchObject([{ id: 1, payload: uint32(2 << 20) }]);
    stream.cancel();
    for (let count = 0; count < 384; count++) await send(frameType.data, 0, 1, part);
    expect(await sent(frameType.windowUpdate)).toMatchObject([{ id: 0, payload: uint32(8 << 20) }]);
  });

  test("resets what the server has answered before it was sent", async () => {
    const { send, open, sent } = connectPair();
    const { stream, ends } = open();
    stream.write(Buffer.from("x"), false);
    await send(frameType.headers, flag.endHeaders | flag.endStream, 1, OK);
    expect(ends.length).toBe(1);
    expect(await sent(frameType.rstStream)).toMatchObject([{ id: 1 }]);
  });

  test("after GOAWAY refuses what the server has not seen, completes the rest, and closes", async () => {
    const { send, open, events } = connectPair();
    const [seen, unseen] = [open(), open()];
    await send(frameType.goaway, 0, 0, Buffer.concat([uint32(1), uint32(0)]));
    expect(unseen.ends).toEqual([{ code: http2Error.refusedStream }]);
    expect(() => open()).toThrow(RangeError);
    await send(frameType.headers, flag.endHeaders | flag.endStream, 1, OK);
    expect(seen.ends).toEqual([{ code: http2Error.none }]);
    await turn();
    expect(events).toEqual(["leaving", "closed: undefined"]);
  });

  test("leaves errors of observers alone", async () => {
    const { connection, client, events } = connectPair();
    const fault = new Error("a fault of the caller");
    connection.open(BLOCK, {
      data: () => {
        throw fault;
      },
      closed: () => {},
    });
    const [take] = client.listeners("data");
    expect(() => take?.call(client, Buffer.from([0, 0, 1, frameType.data, 0, 0, 0, 0, 1, 65]))).toThrow(fault);
    expect(events).toEqual([]);
  });

  test("answers pings, and reports answers to its own", async () => {
    const { send, sent, connection } = connectPair();
    const payload = Buffer.from("12345678");
    await send(frameType.ping, 0, 0, payload);
    expect(await sent(frameType.ping)).toMatchObject([{ flags: flag.ack, payload }]);
    let answers = 0;
    connection.ping(() => answers++);
    await send(frameType.ping, flag.ack, 0, Buffer.alloc(8));
    await send(frameType.ping, flag.ack, 0, Buffer.alloc(8));
    expect(answers).toBe(1);
  });

  test.each([
    ["a push", frameType.pushPromise, 0, 1, uint32(2), http2Error.protocol],
    ["a continuation of nothing", frameType.continuation, 0, 1, NOTHING, http2Error.protocol],
    ["a short GOAWAY", frameType.goaway, 0, 0, Buffer.alloc(3), http2Error.frameSize],
    ["more padding than frame", frameType.data, flag.padded, 1, Buffer.from([3, 1, 1]), http2Error.protocol],
    ["a large frame", frameType.data, 0, 1, Buffer.alloc(16_385), http2Error.frameSize],
    ["a header that is none", frameType.headers, flag.endHeaders, 1, Buffer.of(0xbe), http2Error.compression],
  ])("%s ends the connection and its streams", async (_, type, flags, id, payload, code) => {
    const { send, sent, open, events } = connectPair();
    const { ends } = open();
    await send(type, flags, id, payload);
    expect(await sent(frameType.goaway)).toMatchObject([{ payload: Buffer.concat([uint32(0), uint32(code)]) }]);
    expect(ends).toMatchObject([{ code: http2Error.none, cause: expect.any(Error) }]);
    expect(events.at(-1)).toMatch(/^closed: ./);
  });

  test("a header block without an end ends the connection", async () => {
    const { send, open, events } = connectPair();
    open();
    await send(frameType.headers, 0, 1, OK);
    for (let count = 0; count < 5; count++) await send(frameType.continuation, 0, 1, Buffer.alloc(16_384));
    expect(events.at(-1)).toContain("too large");
  });
});
