// The operator's CA certificates for the serving certificate, checked before they go into kubeconfigs.

import { X509Certificate } from "node:crypto";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { ConfigurationError } from "../config/configuration-error.ts";
import { readFileIfPresent } from "./private-file.ts";

/** Every kubeconfig and every Cluster carries them: a bundle of all public CAs has no place there. */
const MAX_AUTHORITY_BYTES = 64 << 10;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\r\n]*-----END CERTIFICATE-----/g;

export type ServingAuthorityFile = {
  readonly path: string;
  /** The path and contents of --tls-cert-file. */
  readonly certificatePath: string;
  readonly certificatePem: string;
};

/**
 * The certificates of --tls-ca-file, and nothing else that the file holds, such as a private key. Undefined where the file is absent or empty, as the
 * `ca.crt` of a Secret is for public CAs. Throws ConfigurationError where they do not verify the serving certificate.
 */
export async function readServingAuthority(
  { path, certificatePath, certificatePem }: ServingAuthorityFile,
  clock: Pick<Clock, "now">,
): Promise<string | undefined> {
  const text = await readFileIfPresent(path, "the CA of --tls-ca-file");
  if (text === undefined || text.trim() === "") return undefined;
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) {
    throw new ConfigurationError(`${path} contains no PEM certificate: correct --tls-ca-file`);
  }
  const pem = `${blocks.join("\n")}\n`;
  if (pem.length > MAX_AUTHORITY_BYTES) {
    throw new ConfigurationError(
      `${path} has ${pem.length} bytes of certificates, and kubeconfigs carry at most ${MAX_AUTHORITY_BYTES}: keep only the CA of --tls-cert-file in --tls-ca-file`,
    );
  }
  const authorities = parseAll(pem, `${path} contains a damaged certificate: correct --tls-ca-file`);
  const [leaf, ...intermediates] = parseAll(
    certificatePem,
    `${certificatePath} contains a damaged certificate: correct --tls-cert-file`,
  );
  if (leaf !== undefined && isVerified(leaf, intermediates, authorities, clock.now())) return pem;
  throw new ConfigurationError(
    `${path} does not verify ${certificatePath}, issued by ${nameOf(leaf?.issuer)}: put the unexpired root CA into --tls-ca-file, and the intermediates behind the certificate in --tls-cert-file`,
  );
}

const nameOf = (distinguishedName = "nobody"): string => distinguishedName.replaceAll("\n", ", ");

function parseAll(pem: string, message: string): readonly X509Certificate[] {
  try {
    return (pem.match(CERTIFICATE) ?? []).map((block) => new X509Certificate(block));
  } catch (cause) {
    throw new ConfigurationError(message, { cause });
  }
}

/**
 * Whether a path leads from the certificate to one of the authorities, as clients look for one: an authority need not be a root.
 * Source: Go's crypto/x509/verify.go (Certificate.Verify)
 */
function isVerified(
  leaf: X509Certificate,
  intermediates: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  now: number,
): boolean {
  const trusted = new Set(authorities.map(({ fingerprint256 }) => fingerprint256));
  const issuers = [...authorities, ...intermediates].filter((each) => each.ca && isCurrent(each, now));
  // Each certificate is followed once: cross-signed ones lead in circles.
  const seen = new Set<string>();
  const open = [leaf];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const certificate = next;
    if (seen.has(certificate.fingerprint256)) continue;
    seen.add(certificate.fingerprint256);
    if (trusted.has(certificate.fingerprint256)) return true;
    open.push(...issuers.filter((each) => certificate.checkIssued(each) && certificate.verify(each.publicKey)));
  }
  return false;
}

const isCurrent = ({ validFrom, validTo }: X509Certificate, now: number): boolean =>
  Date.parse(validFrom) <= now && now < Date.parse(validTo);
