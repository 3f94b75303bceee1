// The client's side of a WebSocket over HTTP/2 (RFC 8441), frame by frame: no client library in reach speaks it.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";

export type Http2WebSocket = {
  readonly headers: IncomingHttpHeaders;
  readonly stream: ClientHttp2Stream;
};

export const OPCODES = { text: 1, binary: 2, close: 8 } as const;

/** Resolves with the head of the answer, whatever it says. */
export async function openHttp2WebSocket(
  session: ClientHttp2Session,
  path: string,
  headers: OutgoingHttpHeaders = {},
): Promise<Http2WebSocket> {
  if (session.remoteSettings.enableConnectProtocol === undefined) await once(session, "remoteSettings");
  const stream = session.request(
    {
      ":method": "CONNECT",
      ":protocol": "websocket",
      ":scheme": "https",
      ":path": path,
      "sec-websocket-version": "13",
      ...headers,
    },
    { endStream: false },
  );
  stream.on("error", () => undefined);
  const [received] = await once(stream, "response");
  return { headers: received, stream };
}

const MASK_BYTES = 4;
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** A whole message in one masked frame, as clients have to send it. */
export function clientFrame(opcode: number, content: string | Uint8Array): Buffer {
  const payload = Buffer.from(content);
  const mask = randomBytes(MASK_BYTES);
  const head = lengthBytes(opcode, payload.length);
  for (let at = 0; at < payload.length; at++) payload[at] = (payload[at] ?? 0) ^ (mask[at % MASK_BYTES] ?? 0);
  return Buffer.concat([head, mask, payload]);
}

function lengthBytes(opcode: number, length: number): Buffer {
  if (length < LENGTH_16) return Buffer.from([0x80 | opcode, 0x80 | length]);
  const head = Buffer.alloc(10);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | LENGTH_64;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** The messages of a server, each of which it sends in one frame. Ends where the stream does. */
export async function* serverMessages(
  stream: NodeJS.ReadableStream,
): AsyncGenerator<{ readonly opcode: number; readonly payload: Buffer }> {
  let pending = Buffer.alloc(0);
  for await (const chunk of stream) {
    pending = Buffer.concat([pending, Buffer.from(chunk)]);
    for (;;) {
      const size = frameSize(pending);
      if (size === undefined || pending.length < size.head + size.payload) break;
      yield { opcode: (pending[0] ?? 0) & 0x0f, payload: pending.subarray(size.head, size.head + size.payload) };
      pending = pending.subarray(size.head + size.payload);
    }
  }
}

function frameSize(bytes: Buffer): { readonly head: number; readonly payload: number } | undefined {
  const length = (bytes[1] ?? 0) & 0x7f;
  const head = length === LENGTH_64 ? 10 : length === LENGTH_16 ? 4 : 2;
  if (bytes.length < head) return undefined;
  if (length === LENGTH_64) return { head, payload: Number(bytes.readBigUInt64BE(2)) };
  return { head, payload: length === LENGTH_16 ? bytes.readUInt16BE(2) : length };
}
