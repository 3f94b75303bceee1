// Splits a protobuf message into fields. Every length is checked, so that no input loops or reads out of bounds.
// Source: https://protobuf.dev/programming-guides/encoding/

/** Bytes that are not the protobuf message they should be. The message may be shown to the client. */
export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/** A field on the wire: a number for varints and fixed sizes, bytes for length-delimited values. */
export type WireField = {
  readonly number: number;
  readonly value: bigint | Uint8Array;
};

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;
const MAX_VARINT_BYTES = 10;
const MAX_FIELD_NUMBER = 2n ** 29n - 1n;

/** The fields in wire order. @throws ProtobufError for truncated bytes and for groups, which Kubernetes never sends */
export function* readFields(bytes: Uint8Array): Generator<WireField> {
  let offset = 0;
  while (offset < bytes.length) {
    const tag = readVarint(bytes, offset);
    offset = tag.end;
    const number = tag.value >> 3n;
    if (number < 1n || number > MAX_FIELD_NUMBER) throw new ProtobufError("proto: illegal field number");
    switch (Number(tag.value & 7n)) {
      case VARINT: {
        const { value, end } = readVarint(bytes, offset);
        offset = end;
        yield { number: Number(number), value };
        break;
      }
      case LENGTH_DELIMITED: {
        const { value: length, end } = readVarint(bytes, offset);
        if (length > BigInt(bytes.length - end)) throw unexpectedEnd();
        offset = end + Number(length);
        yield { number: Number(number), value: bytes.subarray(end, offset) };
        break;
      }
      case FIXED_64:
        yield { number: Number(number), value: readFixed(bytes, offset, 8) };
        offset += 8;
        break;
      case FIXED_32:
        yield { number: Number(number), value: readFixed(bytes, offset, 4) };
        offset += 4;
        break;
      default:
        throw new ProtobufError("proto: illegal wire type");
    }
  }
}

const unexpectedEnd = (): ProtobufError => new ProtobufError("unexpected EOF");

function readVarint(bytes: Uint8Array, offset: number): { readonly value: bigint; readonly end: number } {
  // Lengths and tags nearly always fit the first byte.
  const first = bytes[offset];
  if (first === undefined) throw unexpectedEnd();
  if (first < 0x80) return { value: BigInt(first), end: offset + 1 };
  let value = 0n;
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    const byte = bytes[offset + i];
    if (byte === undefined) throw unexpectedEnd();
    value |= BigInt(byte & 0x7f) << BigInt(7 * i);
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), end: offset + i + 1 };
  }
  throw new ProtobufError("proto: integer overflow");
}

function readFixed(bytes: Uint8Array, offset: number, size: 4 | 8): bigint {
  if (offset + size > bytes.length) throw unexpectedEnd();
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, size);
  return size === 4 ? BigInt(view.getUint32(0, true)) : view.getBigUint64(0, true);
}
