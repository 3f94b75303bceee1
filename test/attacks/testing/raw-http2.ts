// An HTTP/2 client that sends the frames it is asked to send, and reads only when it wants to: what no client library does.

import { once } from "node:events";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { AttackedServer } from "./attacked-server.ts";

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  priority: 2,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const FLAG = { endStream: 1, ack: 1, endHeaders: 4 } as const;
const SETTING = { initialWindowSize: 4 } as const;

export const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES = 9;

type ReceivedFrame = {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
};

type RawHttp2 = Disposable & {
  readonly socket: TLSSocket;
  /** In the order in which they came. */
  readonly received: readonly ReceivedFrame[];
  send(type: number, flags: number, stream: number, payload?: Uint8Array): void;
  /** Opens a stream with a request; `ended` when no body follows. Returns its id. */
  request(headers: Readonly<Record<string, string>>, ended: boolean): number;
  /** Stops or goes on reading from the socket. */
  setReading(reading: boolean): void;
  /** Resolves with the first frame that fits, received already or still to come; with undefined when the connection ends first. */
  frame(fits: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame | undefined>;
  readonly closed: Promise<void>;
};

type RawHttp2Options = {
  /** Window that the client grants the server on each stream. */
  readonly initialWindowSize?: number;
  /** Window that the client grants the server on the connection, beyond the 64 KiB of the protocol. */
  readonly connectionWindow?: number;
};

export async function connectRawHttp2(
  { url, ca }: Pick<AttackedServer, "url" | "ca">,
  { initialWindowSize, connectionWindow = 0 }: RawHttp2Options = {},
): Promise<RawHttp2> {
  const { hostname, port } = new URL(url);
  const socket = connectTls({ host: hostname, port: Number(port), ca, ALPNProtocols: ["h2"] });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  const received: ReceivedFrame[] = [];
  const listeners = new Set<() => void>();
  const wakeAll = (): void => {
    for (const listener of [...listeners]) listener();
  };
  let rest = Buffer.alloc(0);
  const send: RawHttp2["send"] = (type, flags, stream, payload = Buffer.alloc(0)) => {
    if (!socket.destroyed) socket.write(frame(type, flags, stream, payload));
  };
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      const frame = {
        type: rest.readUInt8(3),
        flags: rest.readUInt8(4),
        stream: rest.readUInt32BE(5) & 0x7fffffff,
        payload: rest.subarray(HEAD_BYTES, end),
      };
      rest = rest.subarray(end);
      received.push(frame);
      if (frame.type === FRAME.settings && (frame.flags & FLAG.ack) === 0) send(FRAME.settings, FLAG.ack, 0);
      if (frame.type === FRAME.ping && (frame.flags & FLAG.ack) === 0) send(FRAME.ping, FLAG.ack, 0, frame.payload);
    }
    wakeAll();
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  void closed.then(wakeAll);
  socket.write(PREFACE);
  send(FRAME.settings, 0, 0, settingsPayload(initialWindowSize));
  if (connectionWindow > 0) send(FRAME.windowUpdate, 0, 0, uint32(connectionWindow));
  let nextStream = 1;
  return {
    socket,
    received,
    send,
    request(headers, ended) {
      const stream = nextStream;
      nextStream += 2;
      send(FRAME.headers, FLAG.endHeaders | (ended ? FLAG.endStream : 0), stream, encodeHeaders(headers));
      return stream;
    },
    setReading: (reading) => void (reading ? socket.resume() : socket.pause()),
    frame: (fits) =>
      new Promise((resolve) => {
        let looked = 0;
        const look = (): void => {
          for (; looked < received.length; looked++) {
            const frame = received[looked];
            if (frame === undefined || !fits(frame)) continue;
            listeners.delete(look);
            resolve(frame);
            return;
          }
          if (socket.destroyed) {
            listeners.delete(look);
            resolve(undefined);
          }
        };
        listeners.add(look);
        look();
      }),
    closed,
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** A GOAWAY frame in words: its code, and what the server says about it. */
export const goawayOf = ({ payload }: ReceivedFrame): { readonly code: number; readonly reason: string } => ({
  code: payload.readUInt32BE(4),
  reason: payload.subarray(8).toString(),
});

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function settingsPayload(initialWindowSize: number | undefined): Buffer {
  if (initialWindowSize === undefined) return Buffer.alloc(0);
  return Buffer.concat([Buffer.from([0, SETTING.initialWindowSize]), uint32(initialWindowSize)]);
}

export const frame = (type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer =>
  Buffer.concat([frameHead(type, flags, stream, payload.length), payload]);

function frameHead(type: number, flags: number, stream: number, length: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return head;
}

/** Literals without indexing (RFC 7541, section 6.2.2): nothing to remember between requests. */
export const encodeHeaders = (headers: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));

function literal(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let left = bytes.length - 127;
    for (; left >= 128; left = Math.floor(left / 128)) length.push((left % 128) + 128);
    length.push(left);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}
