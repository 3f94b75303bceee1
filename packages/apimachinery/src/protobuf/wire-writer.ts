// Writes protobuf messages from their end to their beginning, so that each length is known when it is written.
// Source: https://protobuf.dev/programming-guides/encoding/

/** Kept from one message to the next. A larger buffer is given back. */
const SCRATCH_BYTES = 64 * 1024;

/** Texts that are so short are written byte by byte: a call into Node costs more. */
const SHORT_TEXT = 48;

let scratch: Buffer | undefined;

/** The bytes of a message, its last ones first. */
export class WireWriter {
  #bytes: Buffer;
  #start: number;

  constructor() {
    this.#bytes = scratch ?? Buffer.allocUnsafeSlow(SCRATCH_BYTES);
    scratch = undefined;
    this.#start = this.#bytes.length;
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#bytes.length - this.#start;
  }

  byte(value: number): void {
    this.#make(1);
    this.#bytes[--this.#start] = value;
  }

  bytes(value: Uint8Array): void {
    this.#make(value.length);
    this.#start -= value.length;
    this.#bytes.set(value, this.#start);
  }

  text(value: string): void {
    const { length } = value;
    this.#make(length);
    if (length <= SHORT_TEXT && this.#ascii(value)) return;
    const size = Buffer.byteLength(value);
    this.#make(size);
    this.#start -= size;
    this.#bytes.write(value, this.#start, "utf8");
  }

  /** False, and nothing is written, where there are other characters. */
  #ascii(value: string): boolean {
    let at = this.#start;
    for (let i = value.length - 1; i >= 0; i--) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) return false;
      this.#bytes[--at] = code;
    }
    this.#start = at;
    return true;
  }

  /** Negative ones as 64 bits in two's complement. */
  varint(value: number | bigint): void {
    if (typeof value === "number" && value >= 0 && value <= 0x7f) {
      this.byte(value);
      return;
    }
    if (typeof value === "number" && value >= 0 && value <= 0x0fff_ffff) this.#small(value);
    else this.#large(BigInt.asUintN(64, BigInt(value)));
  }

  #small(value: number): void {
    const size = value > 0x1f_ffff ? 4 : value > 0x3fff ? 3 : 2;
    this.#make(size);
    this.#start -= size;
    let rest = value;
    for (let at = this.#start; ; at++) {
      if (rest <= 0x7f) {
        this.#bytes[at] = rest;
        return;
      }
      this.#bytes[at] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
  }

  #large(value: bigint): void {
    const groups: number[] = [];
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) groups.push(Number(rest & 0x7fn) | 0x80);
    groups.push(Number(rest));
    this.bytes(Uint8Array.from(groups));
  }

  double(value: number): void {
    this.#make(8);
    this.#start -= 8;
    this.#bytes.writeDoubleLE(value, this.#start);
  }

  /** The length of what has been written since `length` was `from`. */
  lengthSince(from: number): void {
    this.varint(this.length - from);
  }

  /** A copy of everything. The writer must not be used again. */
  finish(): Buffer {
    const written = Buffer.from(this.#bytes.subarray(this.#start));
    if (this.#bytes.length === SCRATCH_BYTES) scratch = this.#bytes;
    return written;
  }

  #make(size: number): void {
    if (size <= this.#start) return;
    const { length } = this;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, length + size));
    this.#bytes.copy(larger, larger.length - length, this.#start);
    this.#bytes = larger;
    this.#start = larger.length - length;
  }
}
