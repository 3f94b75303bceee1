// Finds the secrets of a run: keys, tokens and private keys by their form, and values that clients chose by their field.

import { createPrivateKey } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Secret } from "./secret-shapes.ts";

export type FoundSecret = Secret & { readonly id: string };

const KEY = /\b[a-z0-9]{3}_([a-z2-7]{10})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})(?![0-9A-Za-z])/g;
const TOKEN = /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.([\w-]{40,})/g;
const PEM = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\w+/=\s\\]+?-----END \1PRIVATE KEY-----/g;
const PEM_IN_BASE64 = /\bLS0tLS1CRUdJTi[\w+/]{100,}={0,2}/g;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** All secrets in a text by their form. `from`: where it was found, for reports. */
export function secretsInText(text: string, from: string): readonly FoundSecret[] {
  const found: FoundSecret[] = [];
  for (const [value, id, secret, checksum] of text.matchAll(KEY)) {
    if (checksumOf(value.slice(0, -6)) !== checksum) continue;
    found.push(secretOf("access key", `access key ${id} (${from})`, Buffer.from(`${secret}${checksum}`)));
  }
  for (const [, signature] of text.matchAll(TOKEN)) {
    found.push(secretOf("token", `token (${from})`, Buffer.from(signature ?? "")));
  }
  for (const [pem] of text.matchAll(PEM)) found.push(...secretsOfPem(pem.replaceAll("\\n", "\n"), from));
  for (const [encoded] of text.matchAll(PEM_IN_BASE64)) {
    const pem = Buffer.from(encoded, "base64").toString();
    if (pem.includes("PRIVATE KEY")) found.push(...secretsOfPem(pem, from));
  }
  return found;
}

/** The secret part of a private key as bytes; and the lines of its file, which other encodings consist of. */
function secretsOfPem(pem: string, from: string): readonly FoundSecret[] {
  let secret: string | undefined;
  try {
    secret = createPrivateKey(pem).export({ format: "jwk" }).d;
  } catch {
    return [];
  }
  if (secret === undefined) return [];
  const bytes = Buffer.from(secret, "base64url");
  const what = `private key (${from})`;
  // The beginning of a file is the same in all of them, and its end is the public key.
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ""), "base64");
  const at = der.indexOf(bytes);
  const first = Math.ceil((at * 4) / 3);
  const last = Math.floor(((at + bytes.length) * 4) / 3);
  const lines = at < 0 ? [] : linesWithin(pem, first, last);
  const whole = secretOf("private key", what, bytes);
  return [whole, ...lines.map((line) => secretOf("private key", what, Buffer.from(line), whole.id))];
}

/** The parts of lines with the characters `first` to `last` of the content of a PEM file. */
function linesWithin(pem: string, first: number, last: number): readonly string[] {
  const lines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
  let at = 0;
  return lines.flatMap((line) => {
    const from = Math.max(first - at, 0);
    const to = Math.min(last - at, line.length);
    at += line.length;
    return from < to ? [line.slice(from, to)] : [];
  });
}

const MAX_PLACE_LENGTH = 300;

/** Command lines may contain a key. */
export const safePlace = (place: string): string =>
  place
    .replaceAll(KEY, "<access key $1>")
    .replaceAll(/\/\S*\/files\/there\//g, "")
    .replaceAll(/\s+/g, " ")
    .slice(0, MAX_PLACE_LENGTH);

const SECRET_FIELDS = /^(key|idToken|accessToken|refreshToken|connectorData|accessKey|token)$/;
/** Shorter values, or values with fewer different characters, are refused as keys, and occur anywhere. */
const MIN_CHOSEN_LENGTH = 16;
const MIN_CHOSEN_CHARACTERS = 8;

/** The values of secret fields in a request: as members of an object, or in a JSON patch. */
export function secretsInRequest(body: string, from: string): readonly FoundSecret[] {
  const found = [...secretsInText(body, from)];
  const add = (field: string, value: unknown): void => {
    if (typeof value !== "string" || value.length < MIN_CHOSEN_LENGTH) return;
    if (new Set(value).size < MIN_CHOSEN_CHARACTERS) return;
    if (secretsInText(value, from).length > 0) return;
    found.push(secretOf("chosen value", `${field} that was sent (${from})`, Buffer.from(value)));
  };
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value) walk(item);
      return;
    }
    const members: { readonly [name: string]: unknown } = { ...value };
    const pointer = members["path"];
    const last = typeof pointer === "string" ? (pointer.split("/").at(-1) ?? "") : "";
    if (SECRET_FIELDS.test(last)) add(last, members["value"]);
    for (const [name, member] of Object.entries(members)) {
      if (SECRET_FIELDS.test(name)) add(name, member);
      else walk(member);
    }
  };
  try {
    walk(JSON.parse(body));
  } catch {
    for (const [, field, value] of body.matchAll(/^\s*(key|accessKey|connectorData): ["']?([^\s"']+)["']?\s*$/gm)) {
      add(field ?? "", value);
    }
  }
  return found;
}

export function secretOf(kind: Secret["kind"], what: string, bytes: Uint8Array, credential?: string): FoundSecret {
  const id = Buffer.from(bytes).toString("base64");
  return { kind, what: safePlace(what), credential: credential ?? id, bytes, random: kind !== "chosen value", id };
}

/** Like the product; implemented again, so that an error there is not repeated here. */
function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let at = 0; at < 6; at++) {
    digits = BASE62.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
