// The client certificate or key pair that an access key is bound to: made here, or taken from a file. Its private key never leaves this machine.

import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";

export type ProofFlags = {
  readonly proof?: string;
  readonly certificate?: string;
  readonly dpop?: string;
  readonly jwkThumbprint?: string;
};

/** The field spec.confirmation; undefined where nothing is asked for. Throws UsageError. */
export async function confirmationOf(
  flags: ProofFlags,
  { workingDirectory }: Pick<CommandContext, "workingDirectory">,
): Promise<{ readonly certificateSHA256: string } | { readonly jwkThumbprint: string } | undefined> {
  if (flags.dpop !== undefined) return { jwkThumbprint: await makeKeyPair(resolve(workingDirectory, flags.dpop)) };
  if (flags.jwkThumbprint !== undefined) return { jwkThumbprint: flags.jwkThumbprint };
  const certificateSHA256 = await certificateOf(flags, workingDirectory);
  return certificateSHA256 === undefined ? undefined : { certificateSHA256 };
}

async function certificateOf(
  { proof, certificate }: ProofFlags,
  workingDirectory: string,
): Promise<string | undefined> {
  if (proof !== undefined) return await makeProof(resolve(workingDirectory, proof));
  if (certificate === undefined) return undefined;
  const pem = await readFile(resolve(workingDirectory, certificate), "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${certificate} (${error.code})`);
  });
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    throw new UsageError(`${certificate} contains no PEM certificate`);
  }
}

async function makeProof(prefix: string): Promise<string> {
  // Loads the platform's code only here: the other commands start without it.
  const { createSelfSignedCertificate } = await import("@postern/platform/foundation/pki/self-signed-certificate");
  const { certificatePem, privateKeyPem, sha256 } = createSelfSignedCertificate("postern access key");
  await writeNew(`${prefix}.key`, privateKeyPem);
  await writeNew(`${prefix}.crt`, certificatePem);
  return sha256;
}

/** The thumbprint of its public key. */
async function makeKeyPair(prefix: string): Promise<string> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  await writeNew(`${prefix}.key`, privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  const { calculateJwkThumbprint } = await import("jose");
  return await calculateJwkThumbprint(publicKey);
}

/** An existing key may be in use. */
async function writeNew(path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600, flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(error.code === "EEXIST" ? `${path} exists` : `cannot write ${path} (${error.code})`);
  });
}
