// A TLS connection that sends the bytes of a case: halves of requests, or requests whose answers are not read.

import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import type { RunningServer } from "./start-server.ts";

export type RawConnection = Disposable & {
  readonly socket: TLSSocket;
  write(text: string): void;
  /** Resolves with what has come once it holds `text`; rejects when the connection ends before. */
  received(text: string): Promise<string>;
  /** Resolves with everything when the server has ended the connection. */
  readonly ended: Promise<string>;
};

export async function connectRaw({ url, ca }: Pick<RunningServer, "url" | "ca">): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ca, ALPNProtocols: ["http/1.1"] });
  await once(socket, "secureConnect");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  const ended = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
  socket.on("error", () => undefined);
  return {
    socket,
    write: (request) => void socket.write(request),
    async received(wanted) {
      while (!text.includes(wanted)) {
        if (socket.destroyed || socket.readableEnded) throw new Error(`the connection ended after: ${text}`);
        await Promise.race([once(socket, "data"), ended]);
      }
      return text;
    },
    ended,
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** The head of a request of admin's, and as much of a body as is given; `length` is what the head promises. */
export function rawRequest(method: string, path: string, body = "", length = Buffer.byteLength(body)): string {
  const headers = ["Host: test", "Authorization: Bearer admin-token", "Accept: application/json"];
  const ofBody = length === 0 ? [] : ["Content-Type: application/json", `Content-Length: ${length}`];
  return `${[`${method} ${path} HTTP/1.1`, ...headers, ...ofBody].join("\r\n")}\r\n\r\n${body}`;
}
