// A random secret in a file, created at the first start.

import type { Random } from "@postern/apiserver/runtime/clock";
import { ConfigurationError } from "../config/configuration-error.ts";
import { createPrivateFile, readFileIfPresent } from "./private-file.ts";

const SECRET_BYTES = 32;
const SECRET_TEXT = /^[0-9a-f]{64}$/i;

/**
 * The 32 octets of a file, which holds them in hexadecimal; undefined when there is no file. `what` names the secret in
 * errors. A file that holds anything else is refused with ConfigurationError and left alone: with another secret, nothing
 * made under the old one would be recognised any more.
 */
export async function readSecret(path: string, what: string): Promise<Uint8Array | undefined> {
  const text = await readFileIfPresent(path, what);
  if (text === undefined) return undefined;
  const secret = parseSecret(text);
  if (secret === undefined) {
    throw new ConfigurationError(
      `${path} does not contain ${what} (64 hexadecimal digits): restore your separate copy; with a new one, existing access keys stop working`,
    );
  }
  return secret;
}

/** Undefined where the text is anything but a secret in hexadecimal. Editors and transfers leave blanks and line ends of any kind around it. */
export const parseSecret = (text: string): Uint8Array | undefined => {
  const digits = text.trim();
  return SECRET_TEXT.test(digits) ? Buffer.from(digits, "hex") : undefined;
};

/** Makes the file, which must not exist yet. */
export async function createSecret(path: string, random: Random): Promise<Uint8Array> {
  const secret = random.bytes(SECRET_BYTES);
  await createPrivateFile(path, `${Buffer.from(secret).toString("hex")}\n`);
  return secret;
}
