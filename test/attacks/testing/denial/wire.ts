// Connections of an attacker: raw bytes, so that the attacker spends little where the server is to spend much.

import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { encodeHeaders, FLAG, FRAME, frame, PREFACE } from "../raw-http2.ts";
import { pause, type Target } from "./attack.ts";

type Count = (outcome: string, many?: number) => void;

/** One of 250 addresses of this machine: an attacker has more than one. */
const addressOf = (number: number): string => `127.0.${1 + (Math.floor(number / 250) % 250)}.${1 + (number % 250)}`;

export function openTcp({ host, port }: Target, number: number): Socket {
  const socket = connectTcp({ host, port, localAddress: addressOf(number) });
  return socket.on("error", () => undefined);
}

/** Resolves with undefined where no handshake comes about. */
export function openTls(target: Target, number: number, protocols: readonly string[]): Promise<TLSSocket | undefined> {
  return new Promise((resolve) => {
    const { host, port, ca } = target;
    const ALPNProtocols = [...protocols];
    const socket = connectTls({
      socket: openTcp(target, number),
      host,
      port,
      ca,
      ALPNProtocols,
      rejectUnauthorized: false,
    });
    socket.once("secureConnect", () => resolve(socket));
    socket.on("error", () => undefined).once("close", () => resolve(undefined));
  });
}

export type RequestText = {
  readonly path: string;
  readonly method?: string;
  readonly key?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export function http1Text({ path, method, key, body, headers = {} }: RequestText): Buffer {
  const all = {
    host: "localhost",
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `${method ?? (body === undefined ? "GET" : "POST")} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body ?? ""}`,
  );
}

/** The status of the one answer. */
export async function sendOnce(target: Target, request: RequestText): Promise<number> {
  const socket = await openTls(target, 0, ["http/1.1"]);
  if (socket === undefined) throw new Error("no connection");
  socket.write(http1Text({ ...request, headers: { ...request.headers, connection: "close" } }));
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(Buffer.concat(chunks).toString("latin1"))?.[1]);
}

const STATUS = /HTTP\/1\.1 (\d{3})/g;

export type Flood = {
  /** Each in the hand of a source address of its own. */
  readonly connections: number;
  /** How many requests are under way on each. */
  readonly depth: number;
  /** Gives the next request. */
  readonly next: (number: number) => RequestText;
};

/** As many requests over HTTP/1.1 as are answered, each sent when one before it was; a connection that ends is made again. */
export async function flood1(target: Target, flood: Flood, count: Count, signal: AbortSignal): Promise<void> {
  let sent = 0;
  const one = async (number: number): Promise<void> => {
    while (!signal.aborted) {
      const socket = await openTls(target, number, ["http/1.1"]);
      if (socket === undefined) {
        count("ended before the handshake");
        await pause(50, signal);
        continue;
      }
      await new Promise<void>((resolve) => {
        const send = (): void => void (socket.writable && socket.write(http1Text(flood.next(sent++))));
        let rest = "";
        socket.setEncoding("latin1").on("data", (chunk: unknown) => {
          const text = rest + String(chunk);
          let end = 0;
          for (const match of text.matchAll(STATUS)) {
            end = match.index + match[0].length;
            count(match[1] ?? "");
            if (!signal.aborted) send();
          }
          rest = text.slice(Math.max(end, text.length - 11));
        });
        socket.once("close", () => {
          if (!signal.aborted) count("ended");
          resolve();
        });
        signal.addEventListener("abort", () => socket.destroy(), { once: true });
        for (let each = 0; each < flood.depth; each++) send();
      });
    }
  };
  await Promise.all(Array.from({ length: flood.connections }, (_, number) => one(number)));
}

export type RawSession = {
  readonly socket: TLSSocket;
  send(...frames: readonly Buffer[]): boolean;
  /** Resolves when what was sent is out, or the connection is. */
  drained(): Promise<void>;
  readonly isOpen: () => boolean;
};

/** An HTTP/2 connection; `onFrame` sees the type, flags and stream of each frame that comes. */
export async function openHttp2(
  target: Target,
  number: number,
  {
    settings = Buffer.alloc(0),
    onFrame = () => undefined,
  }: {
    readonly settings?: Buffer;
    readonly onFrame?: (type: number, flags: number, stream: number, payload: Buffer) => void;
  } = {},
): Promise<RawSession | undefined> {
  const socket = await openTls(target, number, ["h2"]);
  if (socket === undefined) return undefined;
  let rest: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    while (rest.length - at >= 9) {
      const length = rest.readUIntBE(at, 3);
      if (rest.length - at < 9 + length) break;
      const payload = rest.subarray(at + 9, at + 9 + length);
      onFrame(rest.readUInt8(at + 3), rest.readUInt8(at + 4), rest.readUInt32BE(at + 5) & 0x7fffffff, payload);
      at += 9 + length;
    }
    rest = rest.subarray(at);
  });
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0, 0, settings)]));
  return {
    socket,
    send: (...frames) => socket.writable && socket.write(Buffer.concat(frames)),
    drained: () =>
      new Promise((resolve) => {
        if (!socket.writableNeedDrain || socket.destroyed) return void setImmediate(resolve);
        const done = (): void => {
          socket.off("drain", done).off("close", done);
          resolve();
        };
        socket.once("drain", done).once("close", done);
      }),
    isOpen: () => !socket.destroyed && socket.writable,
  };
}

export function http2Headers(
  stream: number,
  { path, method = "GET", key, headers = {} }: RequestText,
  isEnd = true,
): Buffer {
  const pseudo = { ":method": method, ":scheme": "https", ":authority": "localhost", ":path": path };
  const credential = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const block = encodeHeaders({ ...pseudo, ...credential, ...headers });
  return frame(FRAME.headers, FLAG.endHeaders | (isEnd ? FLAG.endStream : 0), stream, block);
}

/** Runs `attack` over so many connections, each again when it has ended. */
export async function onSessions(
  target: Target,
  sessions: number,
  count: Count,
  signal: AbortSignal,
  attack: (session: RawSession, number: number) => Promise<void>,
  options: (number: number) => Parameters<typeof openHttp2>[2] = () => ({}),
): Promise<void> {
  const one = async (number: number): Promise<void> => {
    while (!signal.aborted) {
      const given = options(number);
      const session = await openHttp2(target, number, {
        ...given,
        onFrame(type, flags, stream, payload) {
          if (type === FRAME.goaway) count("goaway");
          given?.onFrame?.(type, flags, stream, payload);
        },
      });
      if (session === undefined) {
        count("ended before the handshake");
        await pause(50, signal);
        continue;
      }
      const end = (): void => void session.socket.destroy();
      signal.addEventListener("abort", end, { once: true });
      await attack(session, number);
      end();
      signal.removeEventListener("abort", end);
      if (!signal.aborted) count("ended");
    }
  };
  await Promise.all(Array.from({ length: sessions }, (_, number) => one(number)));
}
