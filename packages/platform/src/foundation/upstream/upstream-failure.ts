// Errors for clients when a target is unreachable or disconnects. They name the kind of error, and no addresses.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { ProxyError } from "@postern/client/transport/http-proxy";
import { AddressRefusedError } from "./guarded-lookup.ts";

/** `reason` is one word for programs, in the details of the Status. */
export type UpstreamFault = { readonly reason: string; readonly message: string };

const RETRY_AFTER_SECONDS = 1;

export class ConnectTimeoutError extends Error {
  override readonly name = "ConnectTimeoutError";
}

/** The message goes on after the name of the server. */
export class InvalidResponseError extends Error {
  override readonly name = "InvalidResponseError";
}

/**
 * The target may recover, at a time that is not known. With a Retry-After, client-go would silently retry each request ten times, and
 * kubectl would show the error after minutes.
 */
export const unreachableError = ({ reason, message }: UpstreamFault, cause?: unknown): ApiError =>
  new ApiError({
    code: 503,
    reason: "ServiceUnavailable",
    message: `the cluster cannot be reached: ${message}`,
    details: { causes: [{ reason, message }] },
    cause,
  });

/** Waiting does not help, or the request may have been carried out: it is not for clients to send it again by themselves. */
export const badGatewayError = ({ reason, message }: UpstreamFault, cause?: unknown): ApiError =>
  new ApiError({
    code: 502,
    message: `the cluster did not return a usable response: ${message}`,
    details: { causes: [{ reason, message }] },
    cause,
  });

/** The same where it passes within seconds: clients wait for it by themselves. */
export function soonReachableError(fault: UpstreamFault): ApiError {
  const { code, reason, message, details } = unreachableError(fault);
  return new ApiError({ code, reason, message, details: { ...details, retryAfterSeconds: RETRY_AFTER_SECONDS } });
}

/** `message` goes on after "the cluster cannot be reached". */
export const busyError = (message = "too many requests to it are in progress"): ApiError =>
  soonReachableError({ reason: "TooManyConnections", message });

export const credentialRefusedError = (): ApiError =>
  badGatewayError({ reason: "CredentialRefused", message: "it refuses the platform's credential" });

export const unaskedUpgradeError = (): ApiError =>
  badGatewayError({ reason: "UpgradeFailed", message: "it upgraded the connection without a request for it" });

/** The refusal for a request that failed before its response. `sent`: the target may have got to see it. */
export function upstreamError(error: unknown, sent: boolean): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof AddressRefusedError) {
    return badGatewayError({ reason: "AddressRefused", message: error.message }, error);
  }
  if (error instanceof ConnectTimeoutError) {
    return unreachableError({ reason: "ConnectTimeout", message: "it does not answer" }, error);
  }
  if (error instanceof InvalidResponseError) {
    return badGatewayError({ reason: "InvalidResponse", message: error.message }, error);
  }
  if (error instanceof ProxyError) return unreachableError(proxyFault(error), error);
  const code = codeOf(error);
  const trust = TRUST_FAULTS[code];
  if (trust !== undefined) return badGatewayError({ reason: "CertificateNotTrusted", message: trust }, error);
  if (isTlsFault(code)) {
    return badGatewayError({ reason: "TLSHandshakeFailed", message: "the TLS handshake failed" }, error);
  }
  if (isInvalidHttp(error)) {
    return badGatewayError({ reason: "InvalidResponse", message: "its response is not valid HTTP" }, error);
  }
  if (isMessage(error, "bad upgrade")) return unaskedUpgradeError();
  const fault = CONNECT_FAULTS[code] ?? { reason: "ConnectionLost", message: "the connection was lost" };
  return sent ? badGatewayError(fault, error) : unreachableError(fault, error);
}

/** The proxy is the operator's: a tenant learns neither its name nor what it says. */
function proxyFault({ status }: ProxyError): UpstreamFault {
  if (status === undefined) return { reason: "ProxyUnavailable", message: "the platform's HTTP proxy cannot be used" };
  const why = status === 407 ? "refuses the platform's login" : `does not connect to it (${status})`;
  return { reason: "ProxyRefused", message: `the platform's HTTP proxy ${why}` };
}

/** The fault that an error of this file has as its cause, or else that of the error, for the status of an object. */
export function faultOf(error: ApiError): UpstreamFault {
  const [cause] = error.details?.causes ?? [];
  return { reason: cause?.reason ?? error.reason, message: cause?.message ?? error.message };
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** Undici gives the last of these also for a head that has two lengths. */
const INVALID_HTTP: readonly string[] = ["UND_ERR_HEADERS_OVERFLOW", "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"];

const isInvalidHttp = (error: unknown): boolean =>
  (error instanceof Error && error.name === "HTTPParserError") ||
  INVALID_HTTP.includes(codeOf(error)) ||
  isMessage(error, "bad response");

/** Undici has one code for all that happens to a connection. */
const isMessage = (error: unknown, message: string): boolean =>
  codeOf(error) === "UND_ERR_SOCKET" && error instanceof Error && error.message === message;

const isTlsFault = (code: string): boolean =>
  code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_") || code === "EPROTO";

const CONNECT_FAULTS: { readonly [code: string]: UpstreamFault } = {
  ECONNREFUSED: { reason: "ConnectionRefused", message: "connection refused" },
  EHOSTUNREACH: { reason: "HostUnreachable", message: "no route to host" },
  ENETUNREACH: { reason: "HostUnreachable", message: "network is unreachable" },
  ETIMEDOUT: { reason: "ConnectTimeout", message: "it does not answer" },
  ENOTFOUND: { reason: "NameNotResolved", message: "its host name does not resolve" },
  EAI_AGAIN: { reason: "NameNotResolved", message: "its host name cannot be resolved now" },
};

const UNTRUSTED = "its certificate is not signed by a trusted CA";

/** OpenSSL's error codes for certificates, as Node reports them. */
const TRUST_FAULTS: { readonly [code: string]: string } = {
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  CERT_REVOKED: "its certificate has been revoked",
  CERT_UNTRUSTED: UNTRUSTED,
  CERT_REJECTED: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  INVALID_CA: UNTRUSTED,
  INVALID_PURPOSE: "its certificate is not a server certificate",
  HOSTNAME_MISMATCH: "its certificate is for another name",
};
