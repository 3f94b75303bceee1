// Finds out why an etcd member does not answer, with one request over HTTP/1.1, whose errors are more precise than those of gRPC.

import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { EtcdTls } from "../etcd-connection.ts";

export type UnreachableReason =
  | "nothing listens"
  | "unknown host"
  | "no answer in time"
  | "untrusted certificate"
  | "expired certificate"
  | "certificate not yet valid"
  | "certificate for another name"
  | "no TLS"
  | "TLS only"
  | "client certificate missing"
  | "client certificate refused"
  | "unusable files";

/** By the error codes of Node and OpenSSL. */
const REASONS: { readonly [code: string]: UnreachableReason | undefined } = {
  ECONNREFUSED: "nothing listens",
  EHOSTUNREACH: "nothing listens",
  ENETUNREACH: "nothing listens",
  ENOTFOUND: "unknown host",
  EAI_AGAIN: "unknown host",
  ETIMEDOUT: "no answer in time",
  DEPTH_ZERO_SELF_SIGNED_CERT: "untrusted certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "untrusted certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "untrusted certificate",
  UNABLE_TO_GET_ISSUER_CERT: "untrusted certificate",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "untrusted certificate",
  CERT_SIGNATURE_FAILURE: "untrusted certificate",
  CERT_HAS_EXPIRED: "expired certificate",
  CERT_NOT_YET_VALID: "certificate not yet valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate for another name",
};

/** Undefined if the member answers, or if the reason is unknown. */
export async function whyUnreachable(
  address: string,
  tls: EtcdTls | undefined,
  timeout: number,
): Promise<UnreachableReason | undefined> {
  try {
    const { status, text } = await ask(address, tls, timeout);
    // The response of a Go server to a request without TLS.
    return tls === undefined && status === 400 && text.includes("HTTPS") ? "TLS only" : undefined;
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    return REASONS[code] ?? reasonOfTls(`${code} ${message}`, tls);
  }
}

const CLOSED = /ECONNRESET|EPIPE|socket hang up/;

function reasonOfTls(fault: string, tls: EtcdTls | undefined): UnreachableReason | undefined {
  // etcd closes connections without TLS if it expects TLS.
  if (tls === undefined) return CLOSED.test(fault) ? "TLS only" : undefined;
  if (/key values mismatch|no start line|PEM|ERR_OSSL/.test(fault)) return "unusable files";
  if (/wrong version number|before secure TLS connection/i.test(fault)) return "no TLS";
  // A refused client certificate ends the connection with an alert, but a reset may arrive first.
  if (!/alert/i.test(fault) && !CLOSED.test(fault)) return undefined;
  return tls.cert === undefined ? "client certificate missing" : "client certificate refused";
}

function ask(
  address: string,
  tls: EtcdTls | undefined,
  timeout: number,
): Promise<{ readonly status: number; readonly text: string }> {
  const url = `${tls === undefined ? "http" : "https"}://${address}/version`;
  const files =
    tls === undefined ? {} : { ca: pem(tls.ca), allowPartialTrustChain: true, cert: pem(tls.cert), key: pem(tls.key) };
  return new Promise((resolve, reject) => {
    const send = tls === undefined ? httpRequest : httpsRequest;
    const request = send(url, { timeout, agent: false, ...files }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      response.on("error", reject).on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on("timeout", () => request.destroy(Object.assign(new Error("no answer"), { code: "ETIMEDOUT" })));
    request.on("error", reject).end();
  });
}

const pem = (bytes: Uint8Array | undefined): Buffer | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes);
