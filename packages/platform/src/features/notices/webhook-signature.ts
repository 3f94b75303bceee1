// Signs requests to the webhook as Standard Webhooks specifies, so that receivers can use its libraries.
// Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";

const PREFIX = "whsec_";
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const MIN_BYTES = 24;
const MIN_CHARACTERS = 32;
/** While a secret is replaced there are two. */
const MAX_SECRETS = 10;

/** The secrets of a file, one a line. Throws ConfigurationError, which has no part of the file in it. */
export async function readWebhookSecrets(path: string): Promise<readonly Uint8Array[]> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new ConfigurationError(`cannot read --notice-webhook-secret-file ${path}`, { cause: error });
  });
  const lines = text.split(/\r?\n/).filter((line) => line !== "");
  const secrets = lines.flatMap((line) => parseWebhookSecret(line) ?? []);
  if (lines.length === 0 || secrets.length !== lines.length || lines.length > MAX_SECRETS) {
    throw new ConfigurationError(
      `--notice-webhook-secret-file ${path} must contain up to ${MAX_SECRETS} lines, each with ${PREFIX} and at least ${MIN_BYTES} bytes in base64, or with at least ${MIN_CHARACTERS} characters`,
    );
  }
  return secrets;
}

/** Undefined if the text is too short for a secret, or has the prefix of a base64 secret but is invalid. */
function parseWebhookSecret(text: string): Uint8Array | undefined {
  if (!text.startsWith(PREFIX)) return text.length < MIN_CHARACTERS ? undefined : Buffer.from(text);
  const encoded = text.slice(PREFIX.length);
  const secret = Buffer.from(encoded, "base64");
  return BASE64.test(encoded) && secret.length >= MIN_BYTES ? secret : undefined;
}

type SignedMessage = {
  /** The same each time that a message is sent: receivers know by it what they have already. */
  readonly id: string;
  readonly body: string;
  /** Milliseconds since the epoch. */
  readonly sentAt: number;
};

export function signatureHeaders(
  { id, body, sentAt }: SignedMessage,
  secrets: readonly Uint8Array[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(sentAt / 1000));
  const sign = (secret: Uint8Array): string =>
    `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map(sign).join(" "),
  };
}
