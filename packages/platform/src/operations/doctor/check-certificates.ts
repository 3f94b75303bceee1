// Checks the serving certificate, its authority, and the client certificates for etcd.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { ConfigurationError } from "../../foundation/config/configuration-error.ts";
import { parseHostAndPort } from "../../foundation/config/rules.ts";
import { systemErrorCode } from "../../foundation/pki/private-file.ts";
import { readServingAuthority } from "../../foundation/pki/serving-authority.ts";
import { type Finding, fault, ok, remedyOf, skipped, warning } from "./finding.ts";

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;

type Shown = {
  readonly check: string;
  readonly path: string;
  readonly keyPath?: string;
  /** True for a certificate that the server itself renews: it needs no warning in time. */
  readonly isRenewed?: boolean;
  /** Path of the certificate of the authority that signed it. */
  readonly authorityPath?: string;
  readonly names?: readonly string[];
  readonly remedy: string;
};

export async function checkCertificates(configuration: Configuration, now: number): Promise<readonly Finding[]> {
  const { dataDir, tlsCertFile, tlsPrivateKeyFile, externalHostname, etcd, store } = configuration;
  const caPath = join(dataDir, "ca.crt");
  const external = parseHostAndPort(externalHostname)?.host;
  const names = external === undefined ? [] : [external];
  const own = "move tls.crt away: the next start creates another one";
  const shown: Shown[] = [
    { check: "authority", path: caPath, keyPath: join(dataDir, "ca.key"), remedy: "see docs/operations/replicas.md" },
    tlsCertFile === ""
      ? {
          check: "certificate",
          path: join(dataDir, "tls.crt"),
          keyPath: join(dataDir, "tls.key"),
          authorityPath: caPath,
          isRenewed: true,
          names,
          remedy: own,
        }
      : {
          check: "certificate",
          path: tlsCertFile,
          keyPath: tlsPrivateKeyFile,
          names,
          remedy:
            "renew it, or correct the files of --tls-cert-file and --tls-private-key-file; running servers load them within a minute",
        },
  ];
  if (store.kind === "etcd" && etcd.certFile !== "") {
    const remedy =
      "correct or renew the files of --etcd-certfile and --etcd-keyfile; running servers load them within a minute";
    shown.push({ check: "etcd certificate", path: etcd.certFile, keyPath: etcd.keyFile, remedy });
  }
  if (store.kind === "etcd" && etcd.caFile !== "") {
    shown.push({
      check: "etcd authority",
      path: etcd.caFile,
      remedy: "correct or renew the file of --etcd-cafile; running servers load it within a minute",
    });
  }
  const findings = (await Promise.all(shown.map((each) => checkOne(each, now)))).flat();
  return [...findings, ...(await checkServingAuthority(configuration, now))];
}

/** The CA that kubeconfigs carry, as the start checks it. */
async function checkServingAuthority(
  { tlsCaFile, tlsCertFile }: Pick<Configuration, "tlsCaFile" | "tlsCertFile">,
  now: number,
): Promise<readonly Finding[]> {
  const check = "certificate authority";
  const remedy = "correct the file of --tls-ca-file; running servers load it within a minute";
  const certificatePem = await readFile(tlsCertFile, "utf8").catch(() => undefined);
  // A certificate that cannot be read has a finding of its own.
  if (tlsCaFile === "" || certificatePem === undefined) return [];
  try {
    const file = { path: tlsCaFile, certificatePath: tlsCertFile, certificatePem };
    const authority = await readServingAuthority(file, { now: () => now });
    return authority === undefined
      ? [warning(check, `${tlsCaFile} is absent or empty: kubeconfigs name no CA`, remedy)]
      : [ok(check, `${tlsCaFile} verifies ${tlsCertFile}`)];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [fault(check, error.message, remedy)];
  }
}

async function checkOne(shown: Shown, now: number): Promise<readonly Finding[]> {
  const { check, path, remedy } = shown;
  const text = await readFile(path, "utf8").catch((error: unknown) => ({ code: systemErrorCode(error) }));
  if (typeof text !== "string") {
    if (text.code === "ENOENT" && shown.isRenewed === true) return [skipped(check, `${path} does not exist yet`)];
    if (text.code === "ENOENT" && check === "authority") return [skipped(check, `${path} does not exist yet`)];
    return [fault(check, `${path} cannot be read (${text.code ?? "unknown error"})`, remedyOf(text.code, remedy))];
  }
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(text);
  } catch {
    return [fault(check, `${path} is not a PEM certificate`, remedy)];
  }
  const findings = [checkTime(shown, certificate, now)];
  const keyFault = await faultOfKey(shown, certificate);
  if (keyFault !== undefined) findings.push(fault(check, keyFault, remedy));
  const issuerFault = await faultOfIssuer(shown, certificate);
  if (issuerFault !== undefined) findings.push(fault(check, issuerFault, remedy));
  for (const name of shown.names ?? []) {
    const covered = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
    if (covered !== undefined) continue;
    const message = `${path} is not for ${name}, which kubeconfigs name: ${certificate.subjectAltName ?? "no names"}`;
    // The server issues its own again at its next start.
    findings.push(
      shown.isRenewed === true ? warning(check, message, "restart the server") : fault(check, message, remedy),
    );
  }
  // Checks that passed are printed only where none failed.
  return findings.some(({ status }) => status !== "ok") ? findings.filter(({ status }) => status !== "ok") : findings;
}

function checkTime({ check, path, remedy, isRenewed }: Shown, certificate: X509Certificate, now: number): Finding {
  const [start, end] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const until = new Date(end).toISOString().slice(0, 10);
  if (now < start) {
    const from = new Date(start).toISOString();
    return fault(
      check,
      `${path} is not valid before ${from}`,
      "set the clock of this machine, or renew the certificate",
    );
  }
  if (now >= end) return fault(check, `${path} has expired on ${until}`, remedy);
  const days = Math.floor((end - now) / DAY_MS);
  if (days < SOON_DAYS && isRenewed !== true)
    return warning(check, `${path} expires in ${days} days, on ${until}`, remedy);
  return ok(check, `${path} is valid until ${until}`);
}

async function faultOfKey({ path, keyPath }: Shown, certificate: X509Certificate): Promise<string | undefined> {
  if (keyPath === undefined) return undefined;
  try {
    const key = createPrivateKey(await readFile(keyPath, "utf8"));
    return certificate.checkPrivateKey(key) ? undefined : `${keyPath} is not the key of ${path}`;
  } catch (error) {
    return `${keyPath} cannot be read as a private key (${systemErrorCode(error) ?? "not PEM, or encrypted"})`;
  }
}

async function faultOfIssuer(
  { path, authorityPath }: Shown,
  certificate: X509Certificate,
): Promise<string | undefined> {
  if (authorityPath === undefined) return undefined;
  try {
    const authority = new X509Certificate(await readFile(authorityPath, "utf8"));
    return certificate.verify(authority.publicKey) ? undefined : `${authorityPath} has not signed ${path}`;
  } catch {
    // The authority has a finding of its own.
    return undefined;
  }
}
