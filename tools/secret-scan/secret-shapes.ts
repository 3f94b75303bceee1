// The byte sequences that identify a secret in all its encodings.

export type Secret = {
  readonly kind: "access key" | "token" | "private key" | "secret of a server" | "chosen value";
  /** Description and origin, for reports; the secret itself is never printed. */
  readonly what: string;
  /** The same for all parts of one credential, such as the lines of one private key. */
  readonly credential: string;
  readonly bytes: Uint8Array;
  /** Random, so that any part identifies it; otherwise only the whole does. */
  readonly random: boolean;
};

/** The length of the parts that are searched for: 71 bits of a base62 text, which do not occur by chance. */
export const PART_LENGTH = 12;

/** The byte sequences, each of `PART_LENGTH` bytes or more. None for secrets that are too short to be distinguished from other text. */
export function patternsOf({ bytes, random }: Secret): readonly Buffer[] {
  const distinct = new Map<string, Buffer>();
  for (const shape of shapesOf(bytes)) {
    for (const pattern of random ? partsOf(shape) : [shape]) {
      if (pattern.length >= PART_LENGTH) distinct.set(pattern.toString("latin1"), pattern);
    }
  }
  return [...distinct.values()];
}

function shapesOf(bytes: Uint8Array): readonly Buffer[] {
  const plain = Buffer.from(bytes);
  const text = plain.toString("utf8");
  const isText = Buffer.from(text).equals(plain);
  const encoded = [0, 1, 2].map((offset) => base64At(plain, offset));
  const urlSafe = encoded.map((shape) => shape.replaceAll("+", "-").replaceAll("/", "_"));
  const hexadecimal = plain.toString("hex");
  const escaped = isText ? textShapes(text) : [];
  return [
    plain,
    ...[...encoded, ...urlSafe, hexadecimal, hexadecimal.toUpperCase(), ...escaped].map((shape) => Buffer.from(shape)),
  ];
}

/** Encoded in JSON, in JSON as Go writes it, in a URL, and in a URL with every byte escaped. */
const textShapes = (text: string): readonly string[] => {
  const json = JSON.stringify(text).slice(1, -1);
  return [
    json,
    json.replaceAll("<", "\\u003c").replaceAll(">", "\\u003e").replaceAll("&", "\\u0026"),
    encodeURIComponent(text),
    Buffer.from(text).toString("hex").replaceAll(/../g, "%$&"),
  ];
};

/** The base64 characters that depend only on the secret if it starts `offset` bytes after a group of three. */
function base64At(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
  return encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

/** Adjacent, with the last one aligned to the end: any text with two consecutive parts contains one of them completely. */
function partsOf(shape: Buffer): readonly Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at + PART_LENGTH <= shape.length; at += PART_LENGTH)
    parts.push(shape.subarray(at, at + PART_LENGTH));
  if (shape.length > PART_LENGTH) parts.push(shape.subarray(-PART_LENGTH));
  return parts;
}
