// Forwards requests that come through tunnels to the agent's own API server, with the agent's credential: nowhere else, and as no other user.

import {
  createServer,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { OwnCluster } from "./own-cluster.ts";

export type Forwarder = Disposable & {
  /** Serves the requests on a connection of the platform, until it ends. */
  serve(connection: Duplex): void;
  /** Ends the connections without a request, and each other one behind its response. */
  drain(): void;
  readonly counts: ForwardCounts;
};

export type ForwardCounts = { requests: number; upgrades: number; failures: number; active: number };

/** The platform keeps unused connections for 30 seconds. */
const IDLE_MS = 90_000;
/** As kube-apiserver takes them. */
const MAX_HEAD_BYTES = 1 << 20;
const MAX_IDLE_CONNECTIONS = 64;
const HOP_BY_HOP: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** Written here: the credential is the agent's. */
const OWN: readonly string[] = ["authorization", "host", "expect"];

export function createForwarder({ transport, token }: Pick<OwnCluster, "transport" | "token">): Forwarder {
  const server = new URL(transport.server.includes("://") ? transport.server : `https://${transport.server}`);
  const basePath = trimTrailing(server.pathname, "/");
  const isSecure = server.protocol === "https:";
  const tls = {
    rejectUnauthorized: transport.insecureSkipTlsVerify !== true,
    ca: transport.certificateAuthorityPem,
    allowPartialTrustChain: transport.certificateAuthorityPem !== undefined,
    cert: transport.clientCertificatePem,
    key: transport.clientKeyPem,
    servername: transport.tlsServerName,
  };
  const kept = { keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS, scheduling: "lifo" } as const;
  const agent = isSecure ? new HttpsAgent({ ...kept, ...tls }) : new HttpAgent(kept);
  const send = isSecure ? httpsRequest : httpRequest;
  const counts: ForwardCounts = { requests: 0, upgrades: 0, failures: 0, active: 0 };
  let isDraining = false;

  const begin = (incoming: IncomingMessage, headers: OutgoingHttpHeaders, isKept: boolean) =>
    send({
      host: server.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: server.port === "" ? undefined : server.port,
      method: incoming.method,
      path: basePath + incoming.url,
      headers,
      ...(isKept ? { agent } : { agent: false, ...tls }),
      maxHeaderSize: MAX_HEAD_BYTES,
    });

  async function headersFor(incoming: IncomingMessage): Promise<OutgoingHttpHeaders> {
    const bearer = await token();
    return {
      ...forwarded(incoming.rawHeaders, incoming.headers),
      host: server.host,
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    };
  }

  async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    counts.requests += 1;
    const { method = "GET", headers } = incoming;
    const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
    const outgoing = await headersFor(incoming);
    // Node frames no body of a DELETE by itself.
    if (headers["transfer-encoding"] !== undefined) outgoing["transfer-encoding"] = "chunked";
    const attempt = (): void => {
      const request = begin(incoming, outgoing, true);
      const onClose = (): void => void request.destroy();
      response.once("close", onClose);
      request.once("response", (answer) => relay(answer, response));
      request.once("error", (error: NodeJS.ErrnoException) => {
        response.off("close", onClose);
        // The API server closed an idle connection as it was taken. Each attempt uses one up.
        const isStale = request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(error.code ?? "");
        if (isStale && !response.headersSent && !hasBody && (method === "GET" || method === "HEAD")) attempt();
        else if (response.headersSent) response.destroy();
        else refuse(response, error);
      });
      if (hasBody) incoming.pipe(request);
      else request.end();
    };
    attempt();
  }

  function relay(answer: IncomingMessage, response: ServerResponse): void {
    if (isDraining) response.shouldKeepAlive = false;
    response.writeHead(answer.statusCode ?? 502, returned(answer));
    // A watch may have no event for long.
    if (answer.headers["content-length"] === undefined) response.flushHeaders();
    answer.pipe(response);
    // The end of a body that is cut must not look like a whole one.
    answer.once("error", () => response.destroy());
    answer.once("aborted", () => response.destroy());
  }

  function refuse(response: ServerResponse, error: Error): void {
    counts.failures += 1;
    const message = `the agent cannot reach its API server: ${reasonOf(error)}`;
    const status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason: "ServiceUnavailable",
      code: 503,
    };
    response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify(status));
  }

  async function upgrade(incoming: IncomingMessage, connection: Duplex, head: Buffer): Promise<void> {
    counts.upgrades += 1;
    const { upgrade: protocol = "" } = incoming.headers;
    const outgoing = { ...(await headersFor(incoming)), connection: "Upgrade", upgrade: protocol };
    const request = begin(incoming, outgoing, false);
    connection.once("close", () => request.destroy());
    connection.on("error", () => request.destroy());
    request.once("upgrade", (answer, socket, behind) => {
      connection.write(headOf(answer, ["connection: Upgrade", `upgrade: ${answer.headers.upgrade ?? ""}`]));
      if (behind.length > 0) connection.write(behind);
      if (head.length > 0) socket.write(head);
      socket.setNoDelay?.(true);
      socket.on("error", () => connection.destroy());
      socket.once("close", () => {
        // Bytes from before its end are on their way still.
        if (socket.readableEnded && !connection.writableFinished) connection.once("finish", () => connection.destroy());
        else connection.destroy();
      });
      connection.once("close", () => socket.destroy());
      socket.pipe(connection);
      connection.pipe(socket);
    });
    request.once("response", (answer) => {
      connection.write(headOf(answer, ["connection: close"]));
      answer.pipe(connection);
      answer.once("error", () => connection.destroy());
    });
    request.once("error", () => {
      counts.failures += 1;
      connection.destroy();
    });
    request.end();
  }

  const served = new Set<Duplex>();
  const front = createServer({ maxHeaderSize: MAX_HEAD_BYTES, requestTimeout: 0, headersTimeout: 0 });
  front.keepAliveTimeout = IDLE_MS;
  front.on("request", (incoming, response) => {
    counts.active += 1;
    response.once("close", () => {
      counts.active -= 1;
    });
    if (!isOwnPath(incoming)) {
      response.writeHead(400).end();
      return;
    }
    forward(incoming, response).catch((error: Error) => refuse(response, error));
  });
  front.on("upgrade", (incoming, connection, head) => {
    connection.on("error", ignore);
    if (!isOwnPath(incoming)) connection.destroy();
    else upgrade(incoming, connection, head).catch(() => connection.destroy());
  });
  // There is one destination: a request to be connected to another one has none.
  front.on("connect", (_incoming, connection) => connection.destroy());
  front.on("clientError", (_error, connection) => connection.destroy());

  return {
    counts,
    serve(connection) {
      served.add(connection);
      connection.on("error", ignore);
      connection.once("close", () => served.delete(connection));
      front.emit("connection", connection);
    },
    drain() {
      isDraining = true;
      front.closeIdleConnections();
    },
    [Symbol.dispose]() {
      for (const connection of served) connection.destroy();
      front.closeAllConnections();
      agent.destroy();
    },
  };
}

/** A request line with another authority would be one for a proxy. */
const isOwnPath = ({ url = "" }: IncomingMessage): boolean => url.startsWith("/");

/** Repeated headers stay apart: each Impersonate-Group is a line of its own. */
function forwarded(raw: readonly string[], { connection = "" }: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = connection.split(",").map((name) => name.trim().toLowerCase());
  const headers: { [name: string]: string[] } = Object.create(null);
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    if (HOP_BY_HOP.includes(name) || OWN.includes(name) || named.includes(name)) continue;
    headers[name] = [...(headers[name] ?? []), raw[at + 1] ?? ""];
  }
  const outgoing: OutgoingHttpHeaders = {};
  for (const [name, values] of Object.entries(headers)) {
    const [first = ""] = values;
    outgoing[name] = values.length === 1 ? first : values;
  }
  return outgoing;
}

/** Names and values in turns, as they came. */
function returned({ rawHeaders }: IncomingMessage): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!HOP_BY_HOP.includes(name.toLowerCase())) kept.push(name, rawHeaders[at + 1] ?? "");
  }
  return kept;
}

function headOf(answer: IncomingMessage, lines: readonly string[]): Buffer {
  const headers = returned(answer);
  const own = [];
  for (let at = 0; at + 1 < headers.length; at += 2) own.push(`${headers[at]}: ${headers[at + 1]}`);
  const start = `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage ?? ""}`;
  return Buffer.from([start, ...own, ...lines, "", ""].join("\r\n"), "latin1");
}

const reasonOf = (error: NodeJS.ErrnoException): string => error.code ?? "the connection was lost";

const ignore = (): void => undefined;
