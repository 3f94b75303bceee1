// Splits a protobuf message into fields. Every length is checked, so that no input loops or reads out of bounds.
// Source: https://protobuf.dev/programming-guides/encoding/

/** Bytes that are not the protobuf message they should be. The message may be shown to the client. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

export const VARINT = 0;
export const FIXED_64 = 1;
export const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;
const MAX_VARINT_BYTES = 10;
const MAX_FIELD_NUMBER = 2 ** 29 - 1;

/** A number for varints, exact up to 2^53 and a bigint from there on; the bits of fixed sizes; bytes for values with a length. */
export type WireValue = number | bigint | Uint8Array;

/** Reads one message field by field: `next()` first, then `value()` once. */
export class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #wireType = VARINT;
  /** The number of the field that `next` found. */
  number = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** False at the end. @throws ProtobufError for a tag that is none */
  next(): boolean {
    if (this.#at >= this.#bytes.length) return false;
    const tag = this.#varint();
    this.#wireType = Number(BigInt.asUintN(3, BigInt(tag)));
    this.number = typeof tag === "number" ? Math.floor(tag / 8) : Number.POSITIVE_INFINITY;
    if (this.number < 1 || this.number > MAX_FIELD_NUMBER) throw new ProtobufError("proto: illegal field number");
    return true;
  }

  /** @throws ProtobufError for truncated bytes and for groups, which Kubernetes never sends */
  value(): WireValue {
    switch (this.#wireType) {
      case VARINT:
        return this.#varint();
      case LENGTH_DELIMITED: {
        const length = Number(this.#varint());
        const start = this.#at;
        if (length > this.#bytes.length - start) throw unexpectedEnd();
        this.#at = start + length;
        return this.#bytes.subarray(start, this.#at);
      }
      case FIXED_64:
        return this.#fixed(8);
      case FIXED_32:
        return this.#fixed(4);
      default:
        throw new ProtobufError("proto: illegal wire type");
    }
  }

  #varint(): number | bigint {
    const bytes = this.#bytes;
    const first = bytes[this.#at];
    if (first === undefined) throw unexpectedEnd();
    // Lengths and tags nearly always fit the first byte.
    if (first < 0x80) {
      this.#at += 1;
      return first;
    }
    // Four groups fit the integers of bit operations.
    let small = first & 0x7f;
    for (let i = 1; i < 4; i++) {
      const byte = bytes[this.#at + i];
      if (byte === undefined) throw unexpectedEnd();
      small |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        this.#at += i + 1;
        return small;
      }
    }
    let large = 0n;
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = bytes[this.#at + i];
      if (byte === undefined) throw unexpectedEnd();
      large |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte >= 0x80) continue;
      this.#at += i + 1;
      const value = BigInt.asUintN(64, large);
      return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value;
    }
    throw new ProtobufError("proto: integer overflow");
  }

  #fixed(size: 4 | 8): bigint {
    if (this.#at + size > this.#bytes.length) throw unexpectedEnd();
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + this.#at, size);
    this.#at += size;
    return size === 4 ? BigInt(view.getUint32(0, true)) : view.getBigUint64(0, true);
  }
}

const unexpectedEnd = (): ProtobufError => new ProtobufError("unexpected EOF");

/** The fields in wire order. @throws ProtobufError */
export function* readFields(bytes: Uint8Array): Generator<{ readonly number: number; readonly value: WireValue }> {
  const reader = new WireReader(bytes);
  while (reader.next()) yield { number: reader.number, value: reader.value() };
}
