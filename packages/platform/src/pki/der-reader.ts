// Reads DER strictly, for the parts of certificates and certificate requests that node:crypto does not show.
// Source: ITU-T X.690 sections 8 and 10

/** One element: `bytes` spans it whole, `contents` without tag and length. Both are views of the input. */
export type DerElement = { readonly tag: number; readonly bytes: Uint8Array; readonly contents: Uint8Array };

export class DerError extends Error {
  override readonly name = "DerError";
}

/** The element at `offset`. Long tags, indefinite and padded lengths are refused: none is DER that we need. */
function readElementAt(input: Uint8Array, offset: number): DerElement {
  const tag = input[offset];
  const first = input[offset + 1];
  if (tag === undefined || first === undefined) throw new DerError("the encoding ends too early");
  if ((tag & 0x1f) === 0x1f) throw new DerError("a multi-byte tag");
  let length = first;
  let start = offset + 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 3) throw new DerError("an indefinite or oversized length");
    length = 0;
    for (let index = 0; index < count; index++) {
      const octet = input[start + index];
      if (octet === undefined) throw new DerError("the encoding ends too early");
      length = length * 256 + octet;
    }
    start += count;
    if (length < 0x80 || length < 256 ** (count - 1)) throw new DerError("a length that is not minimal");
  }
  const end = start + length;
  if (end > input.length) throw new DerError("the encoding ends too early");
  return { tag, bytes: input.subarray(offset, end), contents: input.subarray(start, end) };
}

/** The one element that fills the input. Throws DerError when anything follows it. */
export function readDer(input: Uint8Array): DerElement {
  const element = readElementAt(input, 0);
  if (element.bytes.length !== input.length) throw new DerError("bytes after the end");
  return element;
}

/** The elements inside a SEQUENCE, SET or explicit tag. */
export function readDerChildren({ contents }: DerElement): readonly DerElement[] {
  const children: DerElement[] = [];
  for (let offset = 0; offset < contents.length; ) {
    const child = readElementAt(contents, offset);
    children.push(child);
    offset += child.bytes.length;
  }
  return children;
}

/** The elements inside a SEQUENCE; any other type is refused. */
export function readDerSequence(element: DerElement): readonly DerElement[] {
  if (element.tag !== 0x30) throw new DerError("a sequence is missing");
  return readDerChildren(element);
}

/** The dotted form of an OBJECT IDENTIFIER; undefined for another type. */
export function readObjectIdentifier({ tag, contents }: DerElement): string | undefined {
  if (tag !== 0x06) return undefined;
  const first = contents[0] ?? 0;
  const top = Math.min(Math.floor(first / 40), 2);
  const arcs = [top, first - top * 40];
  let arc = 0;
  for (const octet of contents.subarray(1)) {
    arc = arc * 128 + (octet & 0x7f);
    if (octet < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  return arcs.join(".");
}
