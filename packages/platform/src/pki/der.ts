// Writes the few DER types that certificates and certificate requests are made of.
// Source: ITU-T X.690 sections 8 and 10

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const;

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

export const derSequence = (...parts: readonly Uint8Array[]): Uint8Array => derElement(TAG.sequence, parts);
export const derSet = (...parts: readonly Uint8Array[]): Uint8Array => derElement(TAG.set, parts);
export const derOctetString = (bytes: Uint8Array): Uint8Array => derElement(TAG.octetString, [bytes]);
export const derUtf8String = (text: string): Uint8Array => derElement(TAG.utf8String, [Buffer.from(text, "utf8")]);
export const derNull = (): Uint8Array => derElement(TAG.null, []);
export const derBoolean = (value: boolean): Uint8Array => derElement(TAG.boolean, [Uint8Array.of(value ? 0xff : 0)]);

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
  return derElement(TAG.integer, isNegativeLooking ? [Uint8Array.of(0), minimal] : [minimal]);
}

/** A bit string. `unusedBits` counts the padding bits at the end of the last octet. */
export const derBitString = (bytes: Uint8Array, unusedBits = 0): Uint8Array =>
  derElement(TAG.bitString, [Uint8Array.of(unusedBits), bytes]);

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
  return derElement(TAG.objectIdentifier, [Uint8Array.from(octets)]);
}

/** A moment in whole seconds, as RFC 5280 section 4.1.2.5 wants it: UTCTime through 2049, GeneralizedTime after. */
export function derTime(epochMs: number): Uint8Array {
  const digits = new Date(epochMs).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  const year = Number(digits.slice(0, 4));
  return year >= 1950 && year < 2050
    ? derElement(TAG.utcTime, [Buffer.from(digits.slice(2), "latin1")])
    : derElement(TAG.generalizedTime, [Buffer.from(digits, "latin1")]);
}
