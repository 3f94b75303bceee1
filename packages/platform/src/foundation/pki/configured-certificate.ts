// The operator's serving certificate, checked before it is used.

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { ConfigurationError } from "../config/configuration-error.ts";
import { readFileIfPresent } from "./private-file.ts";

type ConfiguredCertificate = { readonly certificatePem: string; readonly privateKeyPem: string };

/**
 * The contents of --tls-cert-file (which may go on with intermediates) and --tls-private-key-file. Throws
 * ConfigurationError for files that are missing, unreadable, malformed, expired or no pair.
 */
export async function readConfiguredCertificate(
  certificatePath: string,
  keyPath: string,
  clock: Clock,
): Promise<ConfiguredCertificate> {
  const certificatePem = await readRequired(certificatePath, "the certificate of --tls-cert-file");
  const privateKeyPem = await readRequired(keyPath, "the key of --tls-private-key-file");
  const certificate = parseOr(
    `${certificatePath} is not a PEM certificate: correct --tls-cert-file`,
    () => new X509Certificate(certificatePem),
  );
  const key = parseOr(`${keyPath} is not an unencrypted PEM private key: correct --tls-private-key-file`, () =>
    createPrivateKey(privateKeyPem),
  );
  if (!certificate.checkPrivateKey(key)) {
    throw new ConfigurationError(`${certificatePath} and ${keyPath} do not match: use the key of the certificate`);
  }
  if (Date.parse(certificate.validTo) <= clock.now()) {
    throw new ConfigurationError(`${certificatePath} expired at ${certificate.validTo}: renew it`);
  }
  return { certificatePem, privateKeyPem };
}

async function readRequired(path: string, what: string): Promise<string> {
  const text = await readFileIfPresent(path, what);
  if (text === undefined) throw new ConfigurationError(`${path} does not exist: ${what} is read from it`);
  return text;
}

function parseOr<T>(message: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new ConfigurationError(message, { cause });
  }
}
