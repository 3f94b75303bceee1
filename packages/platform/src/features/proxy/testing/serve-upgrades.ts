// A target that leaves HTTP when it is asked to, behind a proxy, and a caller that asks for it byte by byte.

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { openTls } from "@postern/apiserver/transport/testing/test-clients";
import { onTestFinished } from "vitest";
import { BASE, type ServeProxyOptions, serveProxy } from "./serve-proxy.ts";
import { serveUpstream, type TestUpstream } from "./serve-upstream.ts";

export const EXEC = `${BASE}/api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&stdin=true`;
/** The head of a response that goes over to SPDY, but for the empty line at its end. */
export const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n";

/** A target that is reached with a credential of its own. */
export const targetOf = (upstream: TestUpstream) => ({
  ...upstream,
  server: upstream.url,
  credential: { bearerToken: "own" },
});

type OnUpgrade = (socket: Duplex, request: IncomingMessage, head: Buffer) => void;

/** A target whose side of an upgraded connection is raw. */
export async function serveSpdy(
  onUpgrade: OnUpgrade,
  { plain = false, ...options }: ServeProxyOptions & { plain?: boolean } = {},
) {
  const upstream = await serveUpstream((_request, response) => void response.writeHead(404).end("no upgrade"), {
    plain,
  });
  upstream.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.allowHalfOpen = true;
    socket.on("error", () => undefined);
    onUpgrade(socket, request, head);
  });
  return { upstream, ...(await serveProxy(targetOf(upstream), options)) };
}

/** Speaks HTTP/1.1 as far as the head of the response; what follows is still to be read from the socket. */
export async function askToUpgrade(port: number, headers: readonly string[] = [], path = EXEC, protocol = "SPDY/3.1") {
  const socket = await openTls(port);
  socket.allowHalfOpen = true;
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  const lines = [`POST ${path} HTTP/1.1`, "Host: localhost", "Connection: Upgrade", `Upgrade: ${protocol}`, ...headers];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  return { socket, head: await readHead(socket) };
}

function readHead(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const settle = (head: string): void => {
      socket.off("data", onData).off("end", onEnd).off("close", onEnd).pause();
      resolve(head);
    };
    const onEnd = (): void => settle(text);
    const onData = (chunk: Buffer): void => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      settle(text.slice(0, end));
      const rest = text.slice(end + 4);
      if (rest !== "") socket.unshift(Buffer.from(rest, "latin1"));
    };
    socket.on("data", onData).on("end", onEnd).on("close", onEnd);
  });
}

/** Everything until the other side's end. Iterating over the socket would close our side as well. */
export function collect(socket: Duplex): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const done = (): void => resolve(Buffer.concat(chunks).toString());
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", done).on("close", done).resume();
  });
}
