// The floor of a proxy in Node: TLS and HTTP/1.1 in, one connection a request out, and nothing between them but a token of its own. Bodies of requests are
// dropped.
// Usage: node --import tsx benchmarks/servers/bare-proxy.ts <certificate> <key> <upstream> <CA of the upstream> <token> [undici|https]

import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, request as ask, createServer } from "node:https";
import type { AddressInfo } from "node:net";
// The one that the platform depends on.
import { Pool } from "undici";

const [certificate = "", key = "", upstream = "", authority = "", token = "", client = "undici"] =
  process.argv.slice(2);
const ca = readFileSync(authority);
const { origin, pathname } = new URL(upstream);
const base = pathname === "/" ? "" : pathname;

type Forward = (request: IncomingMessage, response: ServerResponse) => void;

function byUndici(): Forward {
  const pool = new Pool(origin, { connections: 64, connect: { ca }, pipelining: 1 });
  return (request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const forwarded = { accept: headers.accept ?? "*/*", authorization: `Bearer ${token}` };
    pool.dispatch(
      { method, path: base + url, headers: forwarded },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, status, received) => {
          response.writeHead(status, headersOf(received));
        },
        onResponseData: (_controller, chunk) => {
          response.write(chunk);
        },
        onResponseEnd: () => {
          response.end();
        },
        onResponseError: () => {
          response.destroy();
        },
      },
    );
  };
}

function byNode(): Forward {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 64 });
  return (request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const forwarded = { accept: headers.accept ?? "*/*", authorization: `Bearer ${token}` };
    const asked = ask(`${origin}${base}${url}`, { method, agent, headers: forwarded }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, headersOf(answer.headers));
      answer.pipe(response);
    });
    asked.on("error", () => response.destroy());
    asked.end();
  };
}

const headersOf = ({ "content-type": type = "", "content-length": length }: IncomingMessage["headers"]) => ({
  "content-type": type,
  ...(length === undefined ? {} : { "content-length": length }),
});

const server = createServer(
  { cert: readFileSync(certificate), key: readFileSync(key) },
  client === "https" ? byNode() : byUndici(),
);
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`https://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on("SIGTERM", () => process.exit());
