// Packs the bytes of many values into one buffer that can be transferred to another thread without copying.

import type { Span } from "./worker-protocol.ts";

export class BytePacker {
  #parts: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(bytes: Uint8Array): Span {
    const start = this.#length;
    this.#parts.push(bytes);
    this.#length += bytes.byteLength;
    return { start, length: bytes.byteLength };
  }

  /** All bytes added so far; empties the packer. */
  take(): ArrayBuffer {
    const buffer = new ArrayBuffer(this.#length);
    const target = new Uint8Array(buffer);
    let start = 0;
    for (const part of this.#parts) {
      target.set(part, start);
      start += part.byteLength;
    }
    this.#parts = [];
    this.#length = 0;
    return buffer;
  }
}

/** A Buffer, so that callers do not need to convert it. */
export function unpack(buffer: ArrayBuffer, { start, length }: Span): Uint8Array {
  return Buffer.from(buffer, start, length);
}
