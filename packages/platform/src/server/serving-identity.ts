// The serving certificate, and the public address for kubeconfigs.

import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { join } from "node:path";
import type { Clock, Runtime } from "@postern/apiserver/runtime/clock";
import type { TlsCredentials } from "@postern/apiserver/transport/tls/secure-server";
import type { Configuration } from "../foundation/config/configuration.ts";
import { ConfigurationError } from "../foundation/config/configuration-error.ts";
import { parseHostAndPort } from "../foundation/config/rules.ts";
import { loadOrCreateAuthority } from "../foundation/pki/authority-files.ts";
import { readConfiguredCertificate } from "../foundation/pki/configured-certificate.ts";
import { exists } from "../foundation/pki/private-file.ts";
import { readServingAuthority } from "../foundation/pki/serving-authority.ts";
import { loadOrCreateServingCertificate, servingNames } from "../foundation/pki/serving-certificate.ts";

/** Another name than the certificate's own: verifiers take a certificate for self-signed when both are the same. */
export const AUTHORITY_NAME = "postern-ca";

export type ServingIdentity = {
  readonly tls: TlsCredentials;
  /** PEM of what verifies the certificate; undefined where it was configured without, and the machines of clients are expected to trust it. */
  readonly certificateAuthorityPem: string | undefined;
  readonly caPath: string;
  /** Milliseconds since the epoch at which `renew` should be called; undefined for a configured certificate. */
  readonly renewAt: number | undefined;
  readonly validFrom: number | undefined;
};

const AUTHORITY_FILES = ["ca.crt", "ca.key"];

/** Whether the CA already exists. */
export const hasAuthority = async ({ dataDir }: Pick<Configuration, "dataDir">): Promise<boolean> =>
  (await Promise.all(AUTHORITY_FILES.map((name) => exists(join(dataDir, name))))).includes(true);

/** Throws ConfigurationError if a further server on a store would create a CA that existing clients do not trust. */
export function assertOwnCertificate({ dataDir, tlsCertFile }: Configuration): void {
  if (tlsCertFile !== "") return;
  throw new ConfigurationError(
    `${join(dataDir, "ca.crt")} and ca.key are missing, and kubeconfigs of the other servers on this store would not trust this one: copy both from one of them; where none has them any more, make a new key with openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ${join(dataDir, "ca.key")}, and hand out new kubeconfigs`,
  );
}

/** Throws ConfigurationError for files that cannot be used. */
export async function loadServingIdentity(
  configuration: Configuration,
  { clock, random }: Runtime,
): Promise<ServingIdentity> {
  const { dataDir, tlsCertFile, tlsSans, bindAddress, externalHostname } = configuration;
  const authority = await loadOrCreateAuthority(dataDir, { commonName: AUTHORITY_NAME, clock, random });
  const caPath = join(dataDir, "ca.crt");
  if (tlsCertFile !== "") return await loadConfiguredIdentity(configuration, caPath, clock);
  const external = parseHostAndPort(externalHostname)?.host;
  const names = servingNames(bindAddress, [...tlsSans, ...(external === undefined ? [] : [external])]);
  const { certificatePem, privateKeyPem, renewAt, validFrom } = await loadOrCreateServingCertificate(dataDir, {
    authority,
    names,
    clock,
    random,
  });
  return {
    // With the CA, whose fingerprint `postern login` shows: it stays, while the certificate is renewed.
    tls: { cert: certificatePem + authority.certificatePem, key: privateKeyPem },
    certificateAuthorityPem: authority.bundlePem,
    caPath,
    renewAt,
    validFrom,
  };
}

/** The identity of --tls-cert-file. Throws ConfigurationError for files that cannot be used, or that do not fit together. */
export async function loadConfiguredIdentity(
  { tlsCertFile, tlsPrivateKeyFile, tlsCaFile }: Configuration,
  caPath: string,
  clock: Clock,
): Promise<ServingIdentity> {
  const { certificatePem, privateKeyPem } = await readConfiguredCertificate(tlsCertFile, tlsPrivateKeyFile, clock);
  return {
    tls: { cert: certificatePem, key: privateKeyPem },
    certificateAuthorityPem:
      tlsCaFile === ""
        ? undefined
        : await readServingAuthority({ path: tlsCaFile, certificatePath: tlsCertFile, certificatePem }, clock),
    caPath,
    renewAt: undefined,
    validFrom: undefined,
  };
}

/** How clients reach a server that listens on `port`. */
export function publicUrl({ externalHostname, bindAddress }: Configuration, port: number): string {
  const external = parseHostAndPort(externalHostname);
  const host = external?.host ?? (bindAddress === "0.0.0.0" ? "127.0.0.1" : bindAddress === "::" ? "::1" : bindAddress);
  return `https://${host.includes(":") ? `[${host}]` : host}:${external?.port ?? port}`;
}

/** Whether clients that expect this name or address take the certificate. */
export function isNamedIn({ cert }: Pick<TlsCredentials, "cert">, host: string): boolean {
  const certificate = new X509Certificate(cert);
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}
