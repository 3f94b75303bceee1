// Forwards requests that come through tunnels to the agent's own API server, with the agent's credential: nowhere else, and as no other user. A connection of
// the platform has one to the API server of its own; responses pass as they are.

import { once } from "node:events";
import { connect as connectPlain, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, createSecureContext } from "node:tls";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { OwnCluster } from "./own-cluster.ts";
import { type RequestHead, RequestReader } from "./request-reader.ts";

export type Forwarder = Disposable & {
  /** Serves the requests on a connection of the platform, until it ends. */
  serve(connection: Duplex): void;
  /** Has each connection end behind its next response. The platform ends those that it does not use. */
  drain(): void;
  readonly counts: ForwardCounts;
};

export type ForwardCounts = { requests: number; failures: number; connections: number };

/** Written here: the credential is the agent's. */
const OWN: readonly string[] = ["authorization", "host", "expect", "proxy-authorization"];
const KEEP_ALIVE_MS = 30_000;

export function createForwarder({ transport, token }: Pick<OwnCluster, "transport" | "token">): Forwarder {
  const dial = createDial(transport);
  const server = urlOf(transport);
  const basePath = trimTrailing(server.pathname, "/");
  const counts: ForwardCounts = { requests: 0, failures: 0, connections: 0 };
  const served = new Set<Duplex>();
  let isDraining = false;

  /** The head as the API server gets it. */
  async function headFor({ line, headers, isLast }: RequestHead): Promise<string> {
    const bearer = await token();
    const path = line.indexOf(" ") + 1;
    let text = `${line.slice(0, path)}${basePath}${line.slice(path)}\r\nhost: ${server.host}\r\n`;
    if (bearer !== undefined) text += `authorization: Bearer ${bearer}\r\n`;
    const isUpgrade = headers.some(({ name }) => name === "upgrade");
    // Bytes behind a body whose end is not looked for must be no request to the API server either.
    const closes = (isLast && !isUpgrade) || isDraining;
    for (const header of headers) {
      if (!OWN.includes(header.name) && !(closes && header.name === "connection")) text += `${header.line}\r\n`;
    }
    return `${text}${closes ? "connection: close\r\n" : ""}\r\n`;
  }

  async function forward(connection: Duplex, upstream: Socket, onRequest: () => void): Promise<void> {
    const requests = new RequestReader();
    for await (const chunk of connection.iterator({ destroyOnReturn: false })) {
      const parts: Buffer[] = [];
      for (const part of requests.read(chunk)) {
        if (Buffer.isBuffer(part)) parts.push(part);
        else {
          counts.requests += 1;
          onRequest();
          parts.push(Buffer.from(await headFor(part), "latin1"));
        }
      }
      const [first = EMPTY, ...more] = parts;
      if (upstream.destroyed) return;
      if (!upstream.write(more.length === 0 ? first : Buffer.concat(parts))) await once(upstream, "drain");
    }
    upstream.end();
  }

  return {
    counts,
    serve(connection) {
      counts.connections += 1;
      served.add(connection);
      const upstream = dial();
      let isAsked = false;
      let isAnswered = false;
      let failure: Error | undefined;
      const refuseIfAsked = (): void => {
        if (failure === undefined || !isAsked) return;
        counts.failures += 1;
        connection.end(refusalOf(failure));
      };
      upstream.once("data", () => {
        isAnswered = true;
      });
      upstream.pipe(connection);
      upstream.on("error", (error) => {
        failure ??= error;
        // The platform sends what it may repeat again, on another connection.
        if (isAnswered) connection.destroy();
        else refuseIfAsked();
      });
      upstream.once("close", () => {
        if (failure !== undefined) return;
        // Bytes from before its end are on their way still. The end of a body that is cut must not look like a whole one.
        if (upstream.readableEnded && !connection.writableFinished)
          connection.once("finish", () => connection.destroy());
        else connection.destroy();
      });
      connection.on("error", ignore);
      connection.once("close", () => {
        counts.connections -= 1;
        served.delete(connection);
        upstream.destroy();
      });
      const onRequest = (): void => {
        isAsked = true;
        refuseIfAsked();
      };
      forward(connection, upstream, onRequest).catch(() => {
        if (failure === undefined) connection.destroy();
      });
    },
    drain() {
      isDraining = true;
    },
    [Symbol.dispose]() {
      for (const connection of served) connection.destroy();
    },
  };
}

const urlOf = ({ server }: OwnCluster["transport"]): URL =>
  new URL(server.includes("://") ? server : `https://${server}`);

/** Opens connections to the API server. */
function createDial(transport: OwnCluster["transport"]): () => Socket {
  const { protocol, hostname, port } = urlOf(transport);
  const isSecure = protocol === "https:";
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const place = {
    host,
    port: port === "" ? (isSecure ? 443 : 80) : Number(port),
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    noDelay: true,
  };
  if (!isSecure) return () => connectPlain(place);
  const tls = {
    rejectUnauthorized: transport.insecureSkipTlsVerify !== true,
    ca: transport.certificateAuthorityPem,
    allowPartialTrustChain: transport.certificateAuthorityPem !== undefined,
    cert: transport.clientCertificatePem,
    key: transport.clientKeyPem,
    servername: transport.tlsServerName ?? (isIP(host) === 0 ? host : ""),
    ALPNProtocols: ["http/1.1"],
  };
  const secureContext = createSecureContext(tls);
  /** Spares the next handshake its signatures. */
  let session: Buffer | undefined;
  return () =>
    connectTls({ ...place, ...tls, secureContext, session }).on("session", (ticket) => {
      session = ticket;
    });
}

function refusalOf(error: NodeJS.ErrnoException): string {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `the agent cannot reach its API server: ${error.code ?? "the connection was lost"}`,
    reason: "ServiceUnavailable",
    code: 503,
  };
  const body = JSON.stringify(status);
  const headers = ["content-type: application/json", `content-length: ${Buffer.byteLength(body)}`, "connection: close"];
  return ["HTTP/1.1 503 Service Unavailable", ...headers, "", body].join("\r\n");
}

const EMPTY = Buffer.alloc(0);
const ignore = (): void => undefined;
