// Throwaway certificates for tests with real TLS.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type TestCertificate = { readonly key: string; readonly cert: string };

/** Self-signed, for the hosts, and valid from now by the clock that openssl has with these variables. */
export function createTestCertificate(
  commonName = "localhost",
  env: Readonly<Record<string, string>> = {},
  hosts = "DNS:localhost,IP:127.0.0.1,IP:::1",
): TestCertificate {
  const folder = mkdtempSync(join(tmpdir(), "test-certificate-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const names = `subjectAltName=${hosts}`;
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
  const subject = ["-subj", `/O=testers/CN=${commonName}`, "-addext", names];
  try {
    execFileSync(
      "openssl",
      ["req", "-x509", ...curve, "-nodes", "-days", "2", "-keyout", key, "-out", cert, ...subject],
      { stdio: "ignore", env: { ...process.env, ...env } },
    );
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
