// Sends requests with Node's HTTPS and HTTP, with configurable trust and client certificates.

import http from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import tls from "node:tls";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import { connectThrough, type ProxyEnvironment, parseProxy, proxyBeyond } from "./http-proxy.ts";
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
  /** An http URL of a proxy for HTTPS, such as `proxy-url` of a kubeconfig. Takes precedence over the environment. */
  readonly proxyURL?: string;
  /** Variables that may name a proxy: HTTPS_PROXY and NO_PROXY. Default: none is used. */
  readonly proxyEnvironment?: ProxyEnvironment;
  /** For a connection and its TLS, without the CONNECT of a proxy. Default: 30 seconds. The error has the code ETIMEDOUT. */
  readonly connectTimeoutMs?: number;
};

const CONNECT_TIMEOUT_MS = 30_000;

/** A transport that keeps connections open until it is disposed. Throws ProxyError for a proxy that is not used by HTTP. */
export function createNodeTransport(options: NodeTransportOptions): Transport {
  const base = new URL(options.server.includes("://") ? options.server : `https://${options.server}`);
  const basePath = trimTrailing(base.pathname, "/");
  const isSecure = base.protocol === "https:";
  const host = base.hostname.replace(/^\[(.*)\]$/, "$1");
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
  const proxy = isSecure ? proxyOf(options, host, base.port === "" ? HTTPS_PORT : Number(base.port)) : undefined;
  const ended = new AbortController();
  if (proxy !== undefined) connectBy(agent, proxy, ended.signal);
  const { request: open } = isSecure ? https : http;

  const sendOnce = ({ method, path, headers, body, signal }: TransportRequest) =>
    new Promise<TransportResponse>((resolve, reject) => {
      const request = open(
        {
          agent,
          method,
          host,
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
      request.once("socket", (socket) => {
        if (!request.reusedSocket) limitConnecting(socket, isSecure ? "secureConnect" : "connect", options);
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
      ended.abort();
      agent.destroy();
    },
  };
}

const HTTPS_PORT = 443;

function proxyOf({ proxyURL, proxyEnvironment }: NodeTransportOptions, host: string, port: number): URL | undefined {
  if (proxyURL !== undefined) return parseProxy(proxyURL, "proxy-url");
  return proxyEnvironment === undefined ? undefined : proxyBeyond(host, port, proxyEnvironment);
}

/** A server, or what is in front of it, may accept a connection and then be silent. */
function limitConnecting(
  socket: Socket,
  connected: string,
  { connectTimeoutMs = CONNECT_TIMEOUT_MS }: NodeTransportOptions,
): void {
  const timer = setTimeout(
    () => socket.destroy(Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT" })),
    connectTimeoutMs,
  );
  for (const event of [connected, "close"]) socket.once(event, () => clearTimeout(timer));
}

/** TLS is spoken with the server, so that the proxy reads nothing. */
function connectBy(agent: http.Agent, proxy: URL, signal: AbortSignal): void {
  // The agent has the options of `tls.connect`, which its types do not say.
  agent.createConnection = (options: tls.ConnectionOptions, done?: (error: Error | null, stream: Socket) => void) => {
    const { host = "", port = HTTPS_PORT } = options;
    connectThrough(proxy, host, Number(port), signal)
      .then((socket) => secured(socket, options))
      .then(
        (socket) => done?.(null, socket),
        (error: Error) => done?.(error, undefined as never),
      );
    return undefined;
  };
}

/** Throws where a certificate or a key of the options cannot be read. */
function secured(socket: Socket, options: tls.ConnectionOptions): tls.TLSSocket {
  try {
    return tls.connect({ ...options, socket });
  } catch (error) {
    socket.destroy();
    throw error;
  }
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
