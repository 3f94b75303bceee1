// Sends requests with Node's HTTPS and HTTP, with configurable trust and client certificates.

import http from "node:http";
import https from "node:https";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

export type NodeTransportOptions = {
  /** Base URL; its path is prepended to the path of every request. */
  readonly server: string;
  /** PEM bundle to trust instead of the public CAs. */
  readonly certificateAuthorityPem?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** Checks the server's certificate against this name instead of the URL's host. */
  readonly tlsServerName?: string;
  readonly clientCertificatePem?: string;
  readonly clientKeyPem?: string;
};

/** A transport that keeps connections open until it is disposed. */
export function createNodeTransport(options: NodeTransportOptions): Transport {
  const base = new URL(options.server.includes("://") ? options.server : `https://${options.server}`);
  const basePath = trimTrailing(base.pathname, "/");
  const isSecure = base.protocol === "https:";
  const agent = isSecure
    ? new https.Agent({
        keepAlive: true,
        rejectUnauthorized: options.insecureSkipTlsVerify !== true,
        ca: options.certificateAuthorityPem,
        // As for Go, and so for kubectl: an authority that is trusted need not be a root.
        allowPartialTrustChain: options.certificateAuthorityPem !== undefined,
        cert: options.clientCertificatePem,
        key: options.clientKeyPem,
        servername: options.tlsServerName,
      })
    : new http.Agent({ keepAlive: true });
  const { request: open } = isSecure ? https : http;

  const sendOnce = ({ method, path, headers, body, signal }: TransportRequest) =>
    new Promise<TransportResponse>((resolve, reject) => {
      const request = open(
        {
          agent,
          method,
          host: base.hostname.replace(/^\[(.*)\]$/, "$1"),
          port: base.port === "" ? undefined : base.port,
          path: basePath + path,
          headers: body === undefined ? headers : { ...headers, "content-length": Buffer.byteLength(body) },
          signal,
        },
        (response) => resolve(toTransportResponse(response)),
      );
      request.once("error", (error: NodeJS.ErrnoException) => {
        const mayBeStale = request.reusedSocket && error.code === "ECONNRESET" && method === "GET";
        reject(mayBeStale ? new StaleConnectionError(error.message, { cause: error }) : error);
      });
      request.end(body);
    });

  return {
    async send(request) {
      for (;;) {
        try {
          return await sendOnce(request);
        } catch (error) {
          if (!(error instanceof StaleConnectionError)) throw error;
        }
      }
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
    },
  };
}

function toTransportResponse(response: http.IncomingMessage): TransportResponse {
  return {
    status: response.statusCode ?? 0,
    header: (name) => {
      const value = response.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    body: response,
  };
}

/** The server closed an idle connection at the moment of the request. Each attempt uses one up, so that retries end. */
class StaleConnectionError extends Error {
  override readonly name = "StaleConnectionError";
}
