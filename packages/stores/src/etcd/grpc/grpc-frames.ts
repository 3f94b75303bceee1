// The framing of gRPC messages: each is preceded by a flag and its length.

import { GrpcError, grpcStatus } from "./grpc-error.ts";

/** A flag (compressed or not) and the length of the message. */
const PREFIX_BYTES = 5;

/** The encoded frame of a message. */
export function frameOf(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** The message of a unary response. */
export function onlyMessageIn(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined || bytes.length < PREFIX_BYTES) throw malformed("a response without a message");
  assertPlain(bytes);
  if (bytes.readUInt32BE(1) !== bytes.length - PREFIX_BYTES) throw malformed("a message with a wrong length");
  return bytes.subarray(PREFIX_BYTES);
}

/** Reassembles the messages of a stream from chunks of any length. */
export class MessageReader {
  #chunks: Buffer[] = [];
  #length = 0;
  #missing = PREFIX_BYTES;

  /** The messages that this chunk completes. */
  take(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#missing) return [];
    const messages: Buffer[] = [];
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    this.#missing = PREFIX_BYTES;
    while (rest.length >= PREFIX_BYTES) {
      assertPlain(rest);
      const end = PREFIX_BYTES + rest.readUInt32BE(1);
      if (rest.length < end) {
        this.#missing = end;
        break;
      }
      messages.push(rest.subarray(PREFIX_BYTES, end));
      rest = rest.subarray(end);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    return messages;
  }
}

function assertPlain(frame: Buffer): void {
  if (frame[0] !== 0) throw malformed("a compressed message, which was not requested");
}

const malformed = (what: string): GrpcError => new GrpcError(grpcStatus.internal, `the server has sent ${what}`);
