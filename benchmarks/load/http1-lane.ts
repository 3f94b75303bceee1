// A minimal keep-alive HTTP/1.1 connection that only counts: node:https costs more than the measured servers.

import { connect, type TLSSocket } from "node:tls";
import type { ClientRequest, ClientResponse, Lane } from "./client.ts";
import type { Target } from "./order.ts";

const HEAD_END = Buffer.from("\r\n\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

type Awaited = {
  readonly resolve: (response: ClientResponse) => void;
  readonly reject: (error: Error) => void;
};

export async function openHttp1Lane(target: Target): Promise<Lane & Disposable> {
  const { hostname, port, host } = new URL(target.url);
  const { ca } = target;
  const socket = connect({
    host: hostname,
    port: Number(port),
    ALPNProtocols: ["http/1.1"],
    ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
  });
  await new Promise<void>((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  socket.setNoDelay(true);
  const common = `Host: ${host}\r\nAuthorization: Bearer ${target.token}\r\nAccept: application/json\r\n`;
  const responses = new ResponseReader(socket);
  return {
    send({ method, path, contentType = "application/json", body }: ClientRequest) {
      const head = `${method} ${path} HTTP/1.1\r\n${common}`;
      const text =
        body === undefined
          ? `${head}\r\n`
          : `${head}Content-Type: ${contentType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      const response = responses.next();
      socket.write(text);
      return response;
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** Finds the end of a response, by its Content-Length or at the last chunk. */
class ResponseReader {
  #awaited: Awaited | undefined;
  #head: Buffer = Buffer.alloc(0);
  #status = 0;
  /** Remaining bytes of the body; undefined while reading the head, or for a chunked body. */
  #missing: number | undefined;
  #inChunks = false;
  #tail: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(socket: TLSSocket) {
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    const fail = (error?: Error) => this.#awaited?.reject(error ?? new Error("the server closed the connection"));
    socket.on("error", fail).on("close", () => fail());
  }

  next(): Promise<ClientResponse> {
    return new Promise((resolve, reject) => {
      this.#awaited = { resolve, reject };
    });
  }

  #take(chunk: Buffer): void {
    if (this.#missing !== undefined) this.#takeBody(chunk);
    else if (this.#inChunks) this.#takeChunks(chunk);
    else this.#takeHead(this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]));
  }

  #takeHead(received: Buffer): void {
    const end = received.indexOf(HEAD_END);
    if (end < 0) {
      this.#head = received;
      return;
    }
    this.#head = Buffer.alloc(0);
    this.#bytes = 0;
    const head = received.toString("latin1", 0, end);
    this.#status = Number(head.slice(9, 12));
    const rest = received.subarray(end + HEAD_END.length);
    const length = /content-length: *(\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      this.#inChunks = true;
      this.#tail = Buffer.alloc(0);
      this.#takeChunks(rest);
    } else {
      this.#missing = Number(length);
      this.#takeBody(rest);
    }
  }

  #takeBody(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#missing = (this.#missing ?? 0) - chunk.length;
    if (this.#missing <= 0) this.#finish();
  }

  #takeChunks(chunk: Buffer): void {
    this.#bytes += chunk.length;
    this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-LAST_CHUNK.length);
    if (this.#tail.equals(LAST_CHUNK)) this.#finish();
  }

  #finish(): void {
    this.#missing = undefined;
    this.#inChunks = false;
    this.#awaited?.resolve({ status: this.#status, bytes: this.#bytes });
  }
}
