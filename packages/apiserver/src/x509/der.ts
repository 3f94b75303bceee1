// DER: the one reader and the one writer for certificates, requests and keys. Reading is strict: definite minimal lengths, low tag numbers, no
// trailing data.
// Source: ITU-T X.690, sections 8 and 10

export class DerError extends Error {
  override readonly name = "DerError";
}

/** `bytes` spans the element whole, `content` is what is behind tag and length. Both are views of the input. */
export type DerElement = { readonly tag: number; readonly content: Uint8Array; readonly bytes: Uint8Array };

export const DER = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** The elements that follow each other in `bytes`, up to the very end. */
export function readDerElements(bytes: Uint8Array): readonly DerElement[] {
  const elements: DerElement[] = [];
  let at = 0;
  while (at < bytes.length) {
    const [element, end] = readDerElement(bytes, at);
    elements.push(element);
    at = end;
  }
  return elements;
}

/** The one element that `bytes` must consist of. */
export function readWholeDerElement(bytes: Uint8Array): DerElement {
  const [element, end] = readDerElement(bytes, 0);
  if (end !== bytes.length) throw new DerError("data after the element");
  return element;
}

/** The content of the one element, of the given tag, that `bytes` must consist of. */
export const readSingleDerElement = (bytes: Uint8Array, tag: number): Uint8Array =>
  expectTag(readWholeDerElement(bytes), tag);

/** The content of an element of the given tag. */
export const expectTag = (element: DerElement | undefined, tag: number): Uint8Array =>
  expectElement(element, tag).content;

/** The element, which must be of the given tag. */
export function expectElement(element: DerElement | undefined, tag: number): DerElement {
  if (element?.tag !== tag) throw new DerError(`expected tag ${tag}, found ${element?.tag ?? "nothing"}`);
  return element;
}

function readDerElement(bytes: Uint8Array, start: number): readonly [DerElement, number] {
  const tag = byteAt(bytes, start);
  if ((tag & 0x1f) === 0x1f) throw new DerError("tags of several bytes are not read");
  const first = byteAt(bytes, start + 1);
  const longForm = first >= 0x80;
  const lengthBytes = longForm ? first & 0x7f : 0;
  if (longForm && (lengthBytes === 0 || lengthBytes > 4)) throw new DerError("indefinite or oversized length");
  let length = longForm ? 0 : first;
  for (let at = 0; at < lengthBytes; at++) length = length * 256 + byteAt(bytes, start + 2 + at);
  if (longForm && (length < 0x80 || byteAt(bytes, start + 2) === 0)) throw new DerError("length is not minimal");
  const contentStart = start + 2 + lengthBytes;
  const end = contentStart + length;
  if (end > bytes.length) throw new DerError("element runs past its end");
  return [{ tag, content: bytes.subarray(contentStart, end), bytes: bytes.subarray(start, end) }, end];
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new DerError("element is cut short");
  return byte;
}

/** `2.5.4.3` of an OBJECT IDENTIFIER; undefined for an element of another type. */
export const readObjectIdentifier = ({ tag, content }: DerElement): string | undefined =>
  tag === DER.oid ? decodeOid(content) : undefined;

/** `2.5.4.3` from the content of an OBJECT IDENTIFIER. */
export function decodeOid(content: Uint8Array): string {
  if (content.length === 0 || byteAt(content, content.length - 1) >= 0x80)
    throw new DerError("object identifier is cut");
  const arcs: number[] = [];
  let arc = 0;
  let fresh = true;
  for (const byte of content) {
    if (fresh && byte === 0x80) throw new DerError("object identifier is not minimal");
    arc = arc * 128 + (byte & 0x7f);
    if (arc > Number.MAX_SAFE_INTEGER / 128) throw new DerError("object identifier arc is too large");
    fresh = byte < 0x80;
    if (!fresh) continue;
    if (arcs.length === 0) arcs.push(Math.min(Math.floor(arc / 40), 2), arc - Math.min(Math.floor(arc / 40), 2) * 40);
    else arcs.push(arc);
    arc = 0;
  }
  return arcs.join(".");
}

/** Text of one of the three string types that certificates of today use; throws on any other, on bytes out of its alphabet, and on control characters. */
export function decodeDerText({ tag, content }: DerElement): string {
  const text = decodeAlphabet(tag, content);
  // Control characters in a name are never honest: CVE-2021-44533 and its kin live on them.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text)) throw new DerError("control character in text");
  return text;
}

function decodeAlphabet(tag: number, content: Uint8Array): string {
  if (tag === DER.utf8String) {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    } catch {
      throw new DerError("text is not UTF-8");
    }
  }
  const ascii = Buffer.from(content).toString("latin1");
  if (tag === DER.printableString && /^[A-Za-z0-9 '()+,\-./:=?*&@_]*$/.test(ascii)) return ascii;
  if (tag === DER.ia5String && /^[ -~]*$/.test(ascii)) return ascii;
  throw new DerError(`text of tag ${tag} is not read`);
}

function encodeLength(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest & 0xff);
  return Uint8Array.of(0x80 | octets.length, ...octets);
}

/** One element: `tag` is the whole identifier octet, `parts` its contents in order. */
export function derElement(tag: number, parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  return Buffer.concat([Uint8Array.of(tag), encodeLength(length), ...parts]);
}

export const derSequence = (...parts: readonly Uint8Array[]): Uint8Array => derElement(DER.sequence, parts);
export const derSet = (...parts: readonly Uint8Array[]): Uint8Array => derElement(DER.set, parts);
export const derOctetString = (bytes: Uint8Array): Uint8Array => derElement(DER.octetString, [bytes]);
export const derUtf8String = (text: string): Uint8Array => derElement(DER.utf8String, [Buffer.from(text, "utf8")]);
export const derTrue = (): Uint8Array => derElement(DER.boolean, [Uint8Array.of(0xff)]);

/** `[number] EXPLICIT`: wraps a whole element. */
export const derExplicit = (number: number, element: Uint8Array): Uint8Array => derElement(0xa0 | number, [element]);

/** `[number] IMPLICIT` of a primitive type: replaces its tag. */
export const derImplicit = (number: number, contents: Uint8Array): Uint8Array => derElement(0x80 | number, [contents]);

/** A non-negative integer from its big-endian octets. */
export function derInteger(octets: Uint8Array): Uint8Array {
  let start = 0;
  while (start < octets.length - 1 && octets[start] === 0) start++;
  const minimal = octets.subarray(start);
  const isNegativeLooking = minimal.length === 0 || (minimal[0] ?? 0) >= 0x80;
  return derElement(DER.integer, isNegativeLooking ? [Uint8Array.of(0), minimal] : [minimal]);
}

/** A bit string. `unusedBits` counts the padding bits at the end of the last octet. */
export const derBitString = (bytes: Uint8Array, unusedBits = 0): Uint8Array =>
  derElement(DER.bitString, [Uint8Array.of(unusedBits), bytes]);

/** Named bits such as KeyUsage: bit 0 is the highest of the first octet, trailing zero bits are left out. */
export function derNamedBits(bits: readonly number[]): Uint8Array {
  if (bits.length === 0) return derBitString(new Uint8Array(0));
  const highest = Math.max(...bits);
  const octets = new Uint8Array((highest >> 3) + 1);
  for (const bit of bits) octets[bit >> 3] = (octets[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  return derBitString(octets, 7 - (highest & 7));
}

/** An object identifier in dotted form. */
export function derObjectIdentifier(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...others] = dotted.split(".").map(Number);
  const octets = [first * 40 + second];
  for (const arc of others) {
    const groups = [arc & 0x7f];
    for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128))
      groups.unshift(0x80 | (rest & 0x7f));
    octets.push(...groups);
  }
  return derElement(DER.oid, [Uint8Array.from(octets)]);
}

/** A moment in whole seconds, as RFC 5280 section 4.1.2.5 wants it: UTCTime through 2049, GeneralizedTime after. */
export function derTime(epochMs: number): Uint8Array {
  const digits = new Date(epochMs).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  const year = Number(digits.slice(0, 4));
  return year >= 1950 && year < 2050
    ? derElement(DER.utcTime, [Buffer.from(digits.slice(2), "latin1")])
    : derElement(DER.generalizedTime, [Buffer.from(digits, "latin1")]);
}
