// Reads DER strictly: definite minimal lengths, low tag numbers, nothing left over.
// Source: ITU-T X.690, section 10

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
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
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
export function expectTag(element: DerElement | undefined, tag: number): Uint8Array {
  if (element?.tag !== tag) throw new DerError(`expected tag ${tag}, found ${element?.tag ?? "nothing"}`);
  return element.content;
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
