// Which CA a login trusts where this machine knows none: the one that the platform presents, chosen by its fingerprint.

import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import tls from "node:tls";
import { connectThrough, type ProxyEnvironment, proxyBeyond } from "@postern/client/transport/http-proxy";
import type { CommandContext } from "../command-context.ts";
import { plainText } from "../output/plain-text.ts";
import { UsageError } from "../usage-error.ts";

/** Errors of Node for a chain that ends in no authority that is trusted. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
const HANDSHAKE_TIMEOUT_MS = 30_000;
const HTTPS_PORT = 443;

/** The certificates that a server shows in a handshake, which proves nothing: any server at the address can show them. */
type Presented = {
  /** The certificate, then its issuers as far as they were sent. Each is signed by the next. */
  readonly chain: readonly [X509Certificate, ...X509Certificate[]];
  readonly isTrusted: boolean;
};

/** Whether an error says that no trusted authority has signed the certificate of the platform. */
export const isUntrusted = (error: unknown): boolean =>
  error instanceof Error && "code" in error && UNTRUSTED.has(String(error.code));

/**
 * PEM of the CA to trust; undefined where this machine trusts the platform already. Asks on a terminal. Throws UsageError with the fingerprint
 * otherwise.
 */
export async function askForTrust(
  server: string,
  { stderr, readAnswer, environment }: CommandContext,
): Promise<string | undefined> {
  const { chain, isTrusted } = await handshakeWith(server, environment);
  if (isTrusted) return undefined;
  const authority = topOf(chain);
  const answer = await readAnswer(() => {
    const what = authority.ca ? "CA" : "Certificate";
    stderr.write(
      `This machine does not trust the certificate of ${server}.\n` +
        `${what}: ${nameOf(authority)}, valid until ${new Date(authority.validTo).toISOString()}\n` +
        `Fingerprint: ${fingerprintOf(authority)}\n` +
        "Compare the fingerprint with the one that an administrator of the platform gives you. Trust it? [y/N] ",
    );
  });
  if (answer === undefined) throw untrusted(authority);
  if (!/^y(es)?$/i.test(answer)) throw new UsageError("not signed in: the certificate of the platform is not trusted");
  return authority.toString();
}

/** PEM of the certificate with that fingerprint, out of those that the platform presents. Throws UsageError. */
export async function authorityWithFingerprint(
  server: string,
  fingerprint: string,
  environment: ProxyEnvironment,
): Promise<string> {
  const wanted = parseFingerprint(fingerprint);
  const { chain } = await handshakeWith(server, environment);
  const found = chain.find(({ fingerprint256 }) => fingerprint256 === wanted);
  if (found !== undefined) return found.toString();
  const presented = chain.map((each) => `${fingerprintOf(each)} (${nameOf(each)})`).join(", ");
  throw new UsageError(`the platform presents no certificate with the fingerprint SHA256:${wanted}, but ${presented}`);
}

/** The error for a certificate that a CA does not verify which was named, or is remembered. */
export async function explainUntrusted(server: string, environment: ProxyEnvironment): Promise<UsageError> {
  const { chain } = await handshakeWith(server, environment);
  return untrusted(topOf(chain), "the CA that was passed with --ca or that a login remembers did not issue it; ");
}

function untrusted(authority: X509Certificate, reason = ""): UsageError {
  const fingerprint = fingerprintOf(authority);
  return new UsageError(
    `this machine does not trust the certificate of the platform: ${reason}get its certificate authority (ca.crt in the data directory of the server, or the file of its --tls-ca-file) and pass it with --ca; or compare the fingerprint of ${nameOf(authority)} with the one that an administrator gives you, and pass --ca-fingerprint ${fingerprint}`,
  );
}

const fingerprintOf = ({ fingerprint256 }: X509Certificate): string => `SHA256:${fingerprint256}`;

/** A hostile server may have chosen it. */
const nameOf = ({ subject }: X509Certificate): string =>
  plainText((subject || "a certificate without a name").replaceAll("\n", ", "));

const topOf = (chain: Presented["chain"]): X509Certificate => chain.at(-1) ?? chain[0];

/** As `SHA256:AB:CD…`, and as openssl prints it. */
function parseFingerprint(text: string): string {
  const digits = text
    .replace(/^\s*sha-?256(?: fingerprint=|:|=)/i, "")
    .replace(/[:\s]/g, "")
    .toUpperCase();
  if (!/^[0-9A-F]{64}$/.test(digits)) {
    throw new UsageError("--ca-fingerprint must be a SHA-256 fingerprint of 64 hexadecimal digits");
  }
  return (digits.match(/../g) ?? []).join(":");
}

/** Without sending anything: no credential, and no request. */
async function handshakeWith(server: string, environment: ProxyEnvironment): Promise<Presented> {
  const { hostname, port: named } = new URL(server);
  const port = named === "" ? HTTPS_PORT : Number(named);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const proxy = proxyBeyond(host, port, environment);
  const through = proxy === undefined ? undefined : await connectThrough(proxy, host, port);
  return await new Promise((resolve, reject) => {
    const socket = tls.connect({
      ...(through === undefined ? { host, port } : { socket: through }),
      rejectUnauthorized: false,
      ...(isIP(host) === 0 ? { servername: host } : {}),
    });
    socket.setTimeout(HANDSHAKE_TIMEOUT_MS, () => socket.destroy(new Error("the platform did not answer in time")));
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const chain = chainOf(socket);
      // A name that does not match, or an expired certificate, is no question of trust: the request says so.
      const isTrusted = !UNTRUSTED.has(String(socket.authorizationError ?? ""));
      socket.destroy();
      if (chain === undefined) reject(new UsageError("the platform presents no certificate"));
      else resolve({ chain, isTrusted });
    });
  });
}

function chainOf(socket: tls.TLSSocket): Presented["chain"] | undefined {
  let current = socket.getPeerCertificate(true);
  if (current.raw === undefined) return undefined;
  const leaf = new X509Certificate(current.raw);
  const issuers: X509Certificate[] = [];
  let last = leaf;
  // A root is its own issuer.
  while (current.issuerCertificate !== undefined && current.issuerCertificate !== current) {
    current = current.issuerCertificate;
    const issuer = new X509Certificate(current.raw);
    if (!issuer.ca || !last.checkIssued(issuer) || !last.verify(issuer.publicKey)) break;
    if (issuer.fingerprint256 === last.fingerprint256) break;
    issuers.push(issuer);
    last = issuer;
  }
  return [leaf, ...issuers];
}
