// Keeps a certificate authority in two files of a directory, and makes it the first time.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import { ConfigurationError } from "../config/configuration-error.ts";
import { authorityFromPem, type CertificateAuthority, createCertificateAuthority } from "./certificate-authority.ts";
import { createPrivateFile, ensurePrivateDirectory, readFileIfPresent } from "./private-file.ts";

type AuthorityFileOptions = {
  /** The common name of a new authority. */
  readonly commonName: string;
  readonly clock: Clock;
  readonly random: Random;
};

/** `bundlePem`: the whole file, which clients trust. It has further certificates while a rotation goes on. */
export type FiledAuthority = CertificateAuthority & { readonly bundlePem: string };

/**
 * The authority of a directory, made there when it has none. The key is written before the certificate: a start that
 * was cut between the two goes on with that key. Nothing that exists is overwritten; files that are damaged, expired or
 * do not belong together are refused with ConfigurationError.
 */
export async function loadOrCreateAuthority(
  directory: string,
  { commonName, clock, random }: AuthorityFileOptions,
): Promise<FiledAuthority> {
  await ensurePrivateDirectory(directory);
  const certificatePath = join(directory, "ca.crt");
  const keyPath = join(directory, "ca.key");
  const certificatePem = await readFileIfPresent(certificatePath, "the certificate of the certificate authority");
  const keyPem = await readFileIfPresent(keyPath, "the private key of the certificate authority");

  if (certificatePem !== undefined && keyPem !== undefined) {
    return loadAuthority(certificatePath, certificatePem, keyPem, clock);
  }
  if (certificatePem !== undefined) {
    throw new ConfigurationError(
      `${certificatePath} has no private key beside it: restore ${keyPath} from a backup, or move the certificate away, and the server creates a new CA (existing kubeconfigs then stop working)`,
    );
  }
  const authority = createCertificateAuthority({
    commonName,
    clock,
    random,
    ...(keyPem === undefined ? {} : { privateKey: readAuthorityKey(keyPath, keyPem) }),
  });
  if (keyPem === undefined) await createPrivateFile(keyPath, authority.privateKeyPem);
  await createPrivateFile(certificatePath, authority.certificatePem);
  return { ...authority, bundlePem: authority.certificatePem };
}

function loadAuthority(path: string, bundlePem: string, keyPem: string, clock: Clock): FiledAuthority {
  let authority: FiledAuthority;
  try {
    authority = { ...authorityFromPem(certificateOf(bundlePem, keyPem), keyPem), bundlePem };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(
      `the certificate authority ${path} cannot be used (${why}): restore it and its key from a backup, or move both away, and the server creates a new one`,
      { cause: error },
    );
  }
  if (authority.notAfter <= clock.now()) {
    throw new ConfigurationError(
      `the certificate authority ${path} expired at ${new Date(authority.notAfter).toISOString()}: move it and its key away, and the server creates a new one; then issue new kubeconfigs`,
    );
  }
  return authority;
}

/** While a rotation goes on, the file has several certificates, of which one belongs to the key. */
function certificateOf(bundlePem: string, keyPem: string): string {
  const blocks = bundlePem.match(CERTIFICATE) ?? [];
  if (blocks.length < 2) return bundlePem;
  const key = createPrivateKey(keyPem);
  return `${blocks.find((block) => new X509Certificate(block).checkPrivateKey(key)) ?? blocks[0]}\n`;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function readAuthorityKey(path: string, pem: string) {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new ConfigurationError(
      `${path} is not a PEM private key: restore it from a backup, or move it away, and the server creates a new CA`,
      { cause },
    );
  }
}
