// Packs the bytes of many values into one buffer that can be transferred to another thread without copying.

import type { HistoryRow, Row } from "./revision-table.ts";
import type { PackedEvent, PackedValue, Span } from "./worker-protocol.ts";

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

// Rows of the table in the form that is sent to the main thread.

export function packRow({ revision, value }: Row, packer: BytePacker): PackedValue {
  return { ...packer.add(value), revision };
}

export function packEvent({ key, revision, value, previous }: HistoryRow, packer: BytePacker): PackedEvent {
  return {
    key,
    revision,
    ...(value && { value: packer.add(value) }),
    ...(previous && { previous: packRow(previous, packer) }),
  };
}
