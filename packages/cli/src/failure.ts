// Describes an error in one line: what went wrong, and how to fix it if known.

import { isApiError } from "@postern/apimachinery/meta/api-error";

const UNTRUSTED = "its certificate is not signed by the CA in the kubeconfig: get a new kubeconfig";

const SYSTEM_FAILURES: { readonly [code: string]: string } = {
  ECONNREFUSED: "connection refused: check the server in the kubeconfig, and that it is running",
  ECONNRESET: "the server closed the connection: try again",
  ENOTFOUND: "unknown host: check the server in the kubeconfig",
  ETIMEDOUT: "the server does not respond: check the address and the network",
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: "its certificate has expired: renew it on the server",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "its certificate is for another name: use a name in the certificate, or add this one with --tls-san",
};

/** Errors whose messages are complete and written for users. */
const COMPLETE = [
  "AuditLogError",
  "BackupError",
  "ConfigurationError",
  "KubeconfigError",
  "RevocationError",
  "UsageError",
];

export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return `unexpected failure: ${String(error)}`;
  if (isApiError(error)) {
    const message = oneLine(error.message);
    return error.code === 401 ? `${message} (401): check the credential in the kubeconfig` : message;
  }
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  const remedy = code === undefined ? undefined : SYSTEM_FAILURES[code];
  if (remedy !== undefined) return `${oneLine(error.message)}: ${remedy}`;
  if (COMPLETE.includes(error.name)) return oneLine(error.message);
  return `unexpected failure: ${oneLine(error.message)} (set DEBUG=1 to see where)`;
}

/** Servers write messages, too: their control characters must not reach the terminal, nor their lines the commands of a CI system. */
const oneLine = (text: string): string =>
  text
    .split(/\p{Cc}/u)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
