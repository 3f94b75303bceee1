// Header blocks of HTTP/2 without a dynamic table, which a connection can forbid its peer to use: equal blocks have equal fields.
// Source: RFC 7541; its section 4.2 for the table, and appendices A and B for the fields and codes below.

import { Http2Error, http2Error } from "./http2-frames.ts";

/** Names in lower case. */
export type HeaderFields = ReadonlyMap<string, string>;

/** Every field as a literal that is not indexed, and without the Huffman code. */
export function encodeHeaders(fields: Iterable<readonly [name: string, value: string]>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields) {
    parts.push(Buffer.of(0));
    for (const text of [name, value]) {
      const bytes = Buffer.from(text, "latin1");
      parts.push(encodeLength(bytes.length), bytes);
    }
  }
  return Buffer.concat(parts);
}

/** Throws RangeError for what is no header block, or refers to a dynamic table. */
export function decodeHeaders(block: Buffer): HeaderFields {
  const fields = new Map<string, string>();
  const reader = new BlockReader(block);
  while (!reader.isOver) {
    const first = reader.peek();
    if (first >= 0x80) {
      const [name, value] = staticField(reader.integer(7));
      fields.set(name, value);
    } else if (first >= 0x20 && first < 0x40) {
      // The size of the dynamic table, which nothing refers to.
      reader.integer(5);
    } else {
      const index = reader.integer(first >= 0x40 ? 6 : 4);
      const name = index === 0 ? reader.text() : staticField(index)[0];
      fields.set(name, reader.text());
    }
  }
  return fields;
}

const REMEMBERED_BLOCKS = 8;

/** Remembers the last blocks: nearly all answers of a server have the same two. */
export class HeaderDecoder {
  readonly #known = new Map<string, HeaderFields>();

  /** Throws Http2Error for what decodeHeaders refuses. */
  decode(block: Buffer): HeaderFields {
    const text = block.toString("latin1");
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const fields = decodedBlock(block);
    if (this.#known.size >= REMEMBERED_BLOCKS) this.#known.clear();
    this.#known.set(text, fields);
    return fields;
  }
}

function decodedBlock(block: Buffer): HeaderFields {
  try {
    return decodeHeaders(block);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Http2Error(http2Error.compression, `the server has sent ${error.message}`);
  }
}

function encodeLength(length: number): Buffer {
  if (length < 0x7f) return Buffer.of(length);
  const bytes = [0x7f];
  let rest = length - 0x7f;
  for (; rest >= 0x80; rest >>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.of(...bytes, rest);
}

const LONGEST_INTEGER_BITS = 28;

class BlockReader {
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isOver(): boolean {
    return this.#at >= this.#block.length;
  }

  peek(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) throw new RangeError("a header block that ends too early");
    return byte;
  }

  /** In the last `bits` of a byte, and those after it. */
  integer(bits: number): number {
    const most = (1 << bits) - 1;
    let value = this.#next() & most;
    if (value < most) return value;
    for (let shift = 0; shift < LONGEST_INTEGER_BITS; shift += 7) {
      const byte = this.#next();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a header block with an integer that is too large");
  }

  text(): string {
    const isHuffman = this.peek() >= 0x80;
    const end = this.integer(7) + this.#at;
    if (end > this.#block.length) throw new RangeError("a header block that ends too early");
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    return isHuffman ? decodeHuffman(bytes) : bytes.toString("latin1");
  }

  #next(): number {
    const byte = this.peek();
    this.#at++;
    return byte;
  }
}

const EOS = 256;

/** The symbols by the length of their codes, which are numbers in this order. */
const SYMBOLS: readonly (readonly [bits: number, symbols: string | readonly number[]])[] = [
  [5, "012aceiost"],
  [6, " %-./3456789=A_bdfghlmnpru"],
  [7, ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"],
  [8, "&*,;XZ"],
  [10, '!"()?'],
  [11, "'+|"],
  [12, "#>"],
  [13, "\0$@[]~"],
  [14, "^}"],
  [15, "<`{"],
  [19, [92, 195, 208]],
  [20, [128, 130, 131, 162, 184, 194, 224, 226]],
  [21, [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230]],
  [
    22,
    [
      ...[129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170],
      ...[173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233],
    ],
  ],
  [
    23,
    [
      ...[1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157],
      ...[158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191, 197, 231, 239],
    ],
  ],
  [24, [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237]],
  [25, [199, 207, 234, 235]],
  [26, [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255]],
  [27, [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254]],
  [
    28,
    [
      ...[2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19],
      ...[20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 31, 127, 220, 249],
    ],
  ],
  [30, [10, 13, 22, EOS]],
];

/** The symbol of each code after a 1, so that codes of different lengths differ. */
const CODES: ReadonlyMap<number, number> = (() => {
  const codes = new Map<number, number>();
  let code = 0;
  let length = 0;
  for (const [bits, symbols] of SYMBOLS) {
    code *= 2 ** (bits - length);
    length = bits;
    for (const symbol of typeof symbols === "string" ? Buffer.from(symbols, "latin1") : symbols) {
      codes.set(2 ** bits + code++, symbol);
    }
  }
  return codes;
})();

function decodeHuffman(bytes: Buffer): string {
  const symbols: number[] = [];
  let code = 1;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((byte >> bit) & 1);
      const symbol = CODES.get(code);
      if (symbol === undefined) continue;
      if (symbol === EOS) throw new RangeError("a header block with an end inside of a text");
      symbols.push(symbol);
      code = 1;
    }
  }
  // What is left is the beginning of EOS, all ones, and shorter than a byte.
  if (code >= 2 ** 8 || (code & (code + 1)) !== 0) throw new RangeError("a header block with a wrong padding");
  return String.fromCharCode(...symbols);
}

function staticField(index: number): readonly [name: string, value: string] {
  const field = STATIC_TABLE[index - 1];
  if (field === undefined) throw new RangeError(`a header block that refers to an absent field: ${index}`);
  return [field[0], field[1] ?? ""];
}

const STATIC_TABLE: readonly (readonly [name: string, value?: string])[] = [
  [":authority"],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  ...["200", "204", "206", "304", "400", "404", "500"].map((status) => [":status", status] as const),
  ["accept-charset"],
  ["accept-encoding", "gzip, deflate"],
  ["accept-language"],
  ["accept-ranges"],
  ["accept"],
  ["access-control-allow-origin"],
  ["age"],
  ["allow"],
  ["authorization"],
  ["cache-control"],
  ["content-disposition"],
  ["content-encoding"],
  ["content-language"],
  ["content-length"],
  ["content-location"],
  ["content-range"],
  ["content-type"],
  ["cookie"],
  ["date"],
  ["etag"],
  ["expect"],
  ["expires"],
  ["from"],
  ["host"],
  ["if-match"],
  ["if-modified-since"],
  ["if-none-match"],
  ["if-range"],
  ["if-unmodified-since"],
  ["last-modified"],
  ["link"],
  ["location"],
  ["max-forwards"],
  ["proxy-authenticate"],
  ["proxy-authorization"],
  ["range"],
  ["referer"],
  ["refresh"],
  ["retry-after"],
  ["server"],
  ["set-cookie"],
  ["strict-transport-security"],
  ["transfer-encoding"],
  ["user-agent"],
  ["vary"],
  ["via"],
  ["www-authenticate"],
];
