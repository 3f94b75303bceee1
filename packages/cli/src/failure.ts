// Describes an error in one line: what went wrong, and how to fix it if known.

import { isApiError } from "@postern/apimachinery/meta/api-error";

import type { FoundConnection } from "./login/platform-choice.ts";

/** The server at the address is another program. */
export class NotPosternError extends Error {
  override readonly name = "NotPosternError";
}

/** An error of a request, with the connection that it was sent over. */
export class PlatformFailure extends Error {
  override readonly name = "PlatformFailure";
  readonly connection: FoundConnection;
  override readonly cause: Error;

  constructor(cause: Error, connection: FoundConnection) {
    super(cause.message, { cause });
    this.cause = cause;
    this.connection = connection;
  }
}

/** The remedy for the address, the CA and the credential of a connection. */
type Remedies = { readonly address: string; readonly authority: string; readonly credential: string };

/** Remedies for an address and an access key given on the command line. */
const GIVEN: Remedies = {
  address: "check the address",
  authority: "pass its CA with --ca",
  credential: "check the access key",
};

function remediesOf(connection: FoundConnection): Remedies {
  const { source, from, mark } = connection;
  if (source === "environment")
    return {
      address: "check POSTERN_URL",
      authority: "set POSTERN_CA to its CA",
      credential: `check ${credentialVariables(connection).join(" and ")}`,
    };
  if (mark.login !== undefined) {
    const again = `sign in again with postern login ${mark.login}`;
    return { address: `check the address (${from})`, authority: again, credential: again };
  }
  return {
    address: `check the server in the kubeconfig (${from})`,
    authority: `get a new kubeconfig (${from})`,
    credential: `check the credential in the kubeconfig (${from})`,
  };
}

/** The server refuses a key with another proof in the same words as an unknown key. */
function credentialVariables({ workload, keyPair, transport }: FoundConnection): readonly string[] {
  if (workload !== undefined) return ["POSTERN_TRUST_RULE"];
  return [
    "POSTERN_TOKEN",
    ...(keyPair === undefined ? [] : ["POSTERN_DPOP_KEY"]),
    ...(transport.clientCertificatePem === undefined ? [] : ["POSTERN_CLIENT_CERTIFICATE"]),
  ];
}

const UNTRUSTED = ({ authority }: Remedies): string =>
  `the server's certificate is not signed by the CA that is trusted for it: ${authority}`;

/** By the code of the error. They replace its message, which names system calls and says the same. */
const SYSTEM_FAILURES: { readonly [code: string]: (remedies: Remedies) => string } = {
  ECONNREFUSED: ({ address }) => `connection refused: ${address}, and that the server is running`,
  ECONNRESET: () => "the server closed the connection: try again",
  ENOTFOUND: ({ address }) => `unknown host: ${address}`,
  EAI_AGAIN: ({ address }) => `unknown host: ${address}, and the network`,
  ETIMEDOUT: ({ address }) => `the server does not respond: ${address}, and the network`,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: () => "the server's certificate has expired: renew it on the server",
  ERR_TLS_CERT_ALTNAME_INVALID: () =>
    "the server's certificate is for another name: use a name in the certificate, or add this one with --tls-san",
};

/** Errors whose messages are complete and written for users. */
const COMPLETE = [
  "AuditLogError",
  "BackupError",
  "ConfigurationError",
  "KubeconfigError",
  "ProxyError",
  "RevocationError",
  "UsageError",
];

/** `server`: named where Node does not say which one it was. */
export function describeFailure(error: unknown, remedies: Remedies = GIVEN, server = ""): string {
  if (error instanceof PlatformFailure) {
    const { cause, connection } = error;
    if (cause instanceof NotPosternError)
      return `${cause.message} (${connection.transport.server}, ${connection.from}): sign in with postern login, or name a platform with --kubeconfig or --context`;
    return describeFailure(cause, remediesOf(connection), connection.transport.server);
  }
  if (!(error instanceof Error)) return `unexpected failure: ${String(error)}`;
  if (error instanceof NotPosternError) return `${error.message}: ${remedies.address}`;
  if (isApiError(error)) {
    const message = oneLine(error.message);
    return error.code === 401 ? `${message} (401): ${remedies.credential}` : message;
  }
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  const explain = code === undefined ? undefined : SYSTEM_FAILURES[code];
  if (explain !== undefined) return `${placeOf(error) || hostOf(server)}${explain(remedies)}`;
  if (COMPLETE.includes(error.name)) return oneLine(error.message);
  return `unexpected failure: ${oneLine(error.message)} (set DEBUG=1 to see where)`;
}

/** `127.0.0.1:8443: `, as far as Node names it. */
function placeOf(error: Error): string {
  const host =
    "hostname" in error
      ? error.hostname
      : "address" in error
        ? error.address
        : "host" in error
          ? error.host
          : undefined;
  if (typeof host !== "string") return "";
  return `${host}${"port" in error && typeof error.port === "number" ? `:${error.port}` : ""}: `;
}

const hostOf = (server: string): string => (URL.canParse(server) ? `${new URL(server).host}: ` : "");

/** Servers write messages, too: their control characters must not reach the terminal, nor their lines the commands of a CI system. */
const oneLine = (text: string): string =>
  text
    .split(/\p{Cc}/u)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
