// The serving certificate: signed by our authority for the names of the server and renewed in time, or provided by the operator and checked.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import { ipAddressOctets } from "@postern/apiserver/transport/addresses/ip-networks";
import { encodeAlternativeNames } from "@postern/apiserver/x509/alternative-names";
import {
  buildCertificate,
  encodeExtension,
  randomSerial,
  SERVER_CONSTRAINTS,
} from "@postern/apiserver/x509/certificate-builder";
import { encodeDistinguishedName } from "@postern/apiserver/x509/distinguished-name";
import { OID } from "@postern/apiserver/x509/object-identifiers";
import { encodePem } from "@postern/apiserver/x509/pem";
import { ConfigurationError } from "../config/configuration-error.ts";
import { type CertificateAuthority, CLOCK_SKEW_MS } from "./certificate-authority.ts";
import { createPrivateFile, readFileIfPresent, replacePrivateFile } from "./private-file.ts";

const LIFETIME_MS = 365 * 86_400_000;
/** A certificate is replaced once less than this part of its life is left. */
const RENEWAL_SHARE = 1 / 3;
const UNSPECIFIED_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

export type ServingCertificate = {
  readonly certificatePem: string;
  /** PKCS #8. Secret. */
  readonly privateKeyPem: string;
  /** Milliseconds since the epoch at which it should be asked for again: from the later one on, and where the clock is before the earlier one. */
  readonly renewAt: number;
  readonly validFrom: number;
};

export type ServingCertificateOptions = {
  readonly authority: CertificateAuthority;
  /** Host names and IP addresses, as `servingNames` gives them. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
};

/** Signs a certificate for server authentication. It never outlives its authority. */
export function signServingCertificate(options: ServingCertificateOptions & { readonly publicKey: KeyObject }): string {
  const { authority, names, clock, random, publicKey } = options;
  const now = clock.now();
  const serial = randomSerial(random);
  // Never the subject of an authority that the operator made: OpenSSL takes equal names for a self-signed certificate, and refuses it.
  const commonName = `postern-server-${Buffer.from(serial).toString("hex")}`;
  return encodePem(
    "CERTIFICATE",
    buildCertificate(
      {
        serial,
        issuer: authority.subject,
        subject: encodeDistinguishedName({ commonName, organizations: [] }),
        publicKeyInfo: publicKey.export({ type: "spki", format: "der" }),
        notBefore: Math.max(now - CLOCK_SKEW_MS, authority.notBefore),
        notAfter: Math.min(now + LIFETIME_MS, authority.notAfter),
        extensions: [
          ...SERVER_CONSTRAINTS,
          encodeExtension(OID.subjectAlternativeName, encodeAlternativeNames(names)),
          ...authority.authorityKeyIdentifier,
        ],
      },
      authority.signingKey,
    ),
  );
}

/**
 * The certificate in `tls.crt` and `tls.key` of a directory, or a new one there: at first, when its end is near, when
 * its authority changed, when it is not valid yet, or when the server is reached by names it does not have. The key stays over renewals.
 */
export async function loadOrCreateServingCertificate(
  directory: string,
  options: ServingCertificateOptions,
): Promise<ServingCertificate> {
  const certificatePath = join(directory, "tls.crt");
  const keyPath = join(directory, "tls.key");
  const keyPem = await readFileIfPresent(keyPath, "the private key of the server's certificate");
  const currentPem = await readFileIfPresent(certificatePath, "the server's certificate");
  const privateKey =
    keyPem === undefined
      ? generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey
      : readServingKey(keyPath, keyPem);
  const privateKeyPem = keyPem ?? privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  if (keyPem === undefined) await createPrivateFile(keyPath, privateKeyPem);

  const current = currentPem === undefined ? undefined : readServingCertificate(certificatePath, currentPem);
  if (currentPem !== undefined && current !== undefined && isStillGood(current, privateKey, options)) {
    return { certificatePem: currentPem, privateKeyPem, ...timesOf(current) };
  }
  const certificatePem = signServingCertificate({ ...options, publicKey: createPublicKey(privateKey) });
  await replacePrivateFile(certificatePath, certificatePem);
  return { certificatePem, privateKeyPem, ...timesOf(new X509Certificate(certificatePem)) };
}

function isStillGood(
  certificate: X509Certificate,
  key: KeyObject,
  { authority, names, clock }: ServingCertificateOptions,
): boolean {
  return (
    clock.now() < renewalTime(certificate) &&
    // One that was signed while the clock was ahead would be refused by all clients.
    Date.parse(certificate.validFrom) <= Math.max(clock.now(), authority.notBefore) &&
    certificate.checkPrivateKey(key) &&
    certificate.checkIssued(authority.certificate) &&
    certificate.verify(authority.certificate.publicKey) &&
    names.every((name) => isCovered(certificate, name))
  );
}

const isCovered = (certificate: X509Certificate, name: string): boolean =>
  (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;

const timesOf = (certificate: X509Certificate): Pick<ServingCertificate, "renewAt" | "validFrom"> => ({
  renewAt: renewalTime(certificate),
  validFrom: Date.parse(certificate.validFrom),
});

function renewalTime(certificate: X509Certificate): number {
  const start = Date.parse(certificate.validFrom);
  const end = Date.parse(certificate.validTo);
  return end - (end - start) * RENEWAL_SHARE;
}

function readServingKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new ConfigurationError(`${path} is not a PEM private key: move it away, and the server creates a new one`, {
      cause,
    });
  }
}

function readServingCertificate(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new ConfigurationError(`${path} is not a PEM certificate: move it away, and the server creates a new one`, {
      cause,
    });
  }
}

/**
 * Every name a client may reach the server by, without repetition: the local ones, the machine's host name, the bind
 * address (all addresses of the machine for an unspecified one) and the extra names.
 */
export function servingNames(bindAddress: string, extraNames: readonly string[] = []): readonly string[] {
  const bound = UNSPECIFIED_ADDRESSES.has(bindAddress) ? machineAddresses() : [bindAddress];
  const byIdentity = new Map<string, string>();
  for (const name of ["localhost", "127.0.0.1", "::1", hostname(), ...bound, ...extraNames]) {
    if (name !== "") byIdentity.set(identityOf(name), name);
  }
  return [...byIdentity.values()];
}

const identityOf = (name: string): string =>
  isIP(name) === 0 ? name.toLowerCase() : Buffer.from(ipAddressOctets(name)).toString("hex");

const machineAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).filter(({ address }) => !address.startsWith("fe80:")).map(({ address }) => address),
  );
