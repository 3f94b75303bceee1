// A serving certificate for development, which is its own authority.

import { generateKeyPairSync } from "node:crypto";
import { isIP } from "node:net";
import type { Runtime } from "../runtime/clock.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { encodeAlternativeNames } from "./alternative-names.ts";
import { buildCertificate, encodeExtension, randomSerial, SERVER_CONSTRAINTS } from "./certificate-builder.ts";
import { encodeDistinguishedName } from "./distinguished-name.ts";
import { OID } from "./object-identifiers.ts";
import { encodePem } from "./pem.ts";

/** Names, lifetime and randomness of a certificate for development. */
export type SelfSignedCertificateOptions = {
  /** Host names and IP addresses at which clients reach the server. Default: `localhost`, `127.0.0.1` and `::1`. */
  readonly names?: readonly string[];
  /** Days from now until it expires, at least one. Default: 30. */
  readonly days?: number;
  /** Clock and randomness. Default: those of the process. */
  readonly runtime?: Pick<Runtime, "clock" | "random">;
};

/** PEM, as `createApiServer` takes them. */
export type SelfSignedCertificate = {
  /** PKCS #8. Secret. */
  readonly key: string;
  /** Clients verify the server with it: `certificate-authority` of a kubeconfig, `--cacert` of curl. */
  readonly cert: string;
};

const DAY_MS = 86_400_000;
/** Room for clocks of clients that are behind. */
const CLOCK_SKEW_MS = 5 * 60_000;
/** An ASCII host name, perhaps with a wildcard in front. */
const HOST_NAME = /^(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;

/**
 * A new key (P-256) and a self-signed certificate for it, for development and tests. It cannot sign other certificates, so that it is
 * safe to trust. In production, take files of your own authority.
 * Throws an Error if a name is neither a host name nor an IP address, or if there is none.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { createSelfSignedCertificate } from "@postern/kubernetes";
 *
 * const tls = createSelfSignedCertificate({ names: ["localhost", "127.0.0.1"] });
 * writeFileSync("tls.crt", tls.cert);
 * writeFileSync("tls.key", tls.key, { mode: 0o600 });
 * ```
 */
export function createSelfSignedCertificate(options: SelfSignedCertificateOptions = {}): SelfSignedCertificate {
  const { names = ["localhost", "127.0.0.1", "::1"], days = 30, runtime = systemRuntime } = options;
  if (names.length === 0) throw new Error("a serving certificate needs a name");
  const wrong = names.find((name) => isIP(name) === 0 && !HOST_NAME.test(name));
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is neither a host name nor an IP address`);
  if (!(days >= 1)) throw new Error(`a certificate lasts at least one day, not ${days}`);
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const serial = randomSerial(runtime.random);
  // Its own subject for each, so that a new one is never taken for the one before.
  const commonName = `development-${Buffer.from(serial).toString("hex")}`;
  const name = encodeDistinguishedName({ commonName, organizations: [] });
  const now = runtime.clock.now();
  const der = buildCertificate(
    {
      serial,
      issuer: name,
      subject: name,
      publicKeyInfo: publicKey.export({ type: "spki", format: "der" }),
      notBefore: now - CLOCK_SKEW_MS,
      notAfter: now + days * DAY_MS,
      extensions: [...SERVER_CONSTRAINTS, encodeExtension(OID.subjectAlternativeName, encodeAlternativeNames(names))],
    },
    privateKey,
  );
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: encodePem("CERTIFICATE", der),
  };
}
