// Writes values on the wire as Protocol Buffers do, field by field.
// Source: https://protobuf.dev/programming-guides/encoding/

const VARINT = 0;
const FIXED_64 = 1;
export const LENGTH_DELIMITED = 2;

/** The bytes of fields, each with its number and wire type before it. */
export class ProtobufWriter {
  readonly #chunks: Uint8Array[] = [];

  bytes(field: number, content: Uint8Array): void {
    this.#chunks.push(tag(field, LENGTH_DELIMITED), varint(content.length), content);
  }

  string(field: number, text: string): void {
    this.bytes(field, Buffer.from(text));
  }

  integer(field: number, value: number | bigint): void {
    this.#chunks.push(tag(field, VARINT), varint(value < 0 ? BigInt.asUintN(64, BigInt(value)) : value));
  }

  double(field: number, value: number): void {
    const content = Buffer.allocUnsafe(8);
    content.writeDoubleLE(value);
    this.#chunks.push(tag(field, FIXED_64), content);
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#chunks);
  }
}

export const tag = (field: number, wireType: number): Uint8Array => varint((field << 3) | wireType);

export function varint(value: number | bigint): Uint8Array {
  // Nearly all are tags and short lengths.
  if (typeof value === "number" && value <= 0x7f) return Uint8Array.of(value);
  if (typeof value === "number" && value <= 0x3fff) return Uint8Array.of((value & 0x7f) | 0x80, value >> 7);
  const out: number[] = [];
  let rest = BigInt(value);
  while (rest > 0x7fn) {
    out.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  out.push(Number(rest));
  return Uint8Array.from(out);
}
