// The ceiling: the cost of Node's TLS, HTTP/1.1 and HTTP/2 in a server that does nothing. `/bytes/<n>`, or an object named
// `bytes-<n>`, answers n bytes for any method; `?watch` holds the response open, and receives every other write.
// Usage: node --import tsx benchmarks/servers/bare-server.ts <certificate> <key>

import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

const [certificate = "", key = ""] = process.argv.slice(2);
const server = createSecureServer({
  cert: readFileSync(certificate),
  key: readFileSync(key),
  allowHTTP1: true,
  // In MB: whole lists are buffered here, where a real server writes them in parts.
  maxSessionMemory: 1_000,
});
// Node uses its slower compatibility layer for HTTP/2 streams once there is a listener for "request".
server.removeAllListeners("newListener");

const bodies = new Map<string, Buffer>();
const watchers = new Set<ServerHttp2Stream>();

function bodyOf(path: string): Buffer {
  let body = bodies.get(path);
  if (body === undefined) {
    body = Buffer.alloc(Number(/\/bytes[/-](\d+)/.exec(path)?.[1] ?? 2), "x");
    bodies.set(path, body);
  }
  return body;
}

const headersOf = (body: Buffer) => ({ "content-type": "application/json", "content-length": body.length });

server.on("stream", (stream, headers) => {
  const path = headers[":path"] ?? "";
  stream.on("error", () => undefined);
  if (path.includes("?watch")) {
    stream.respond({ ":status": 200, "content-type": "application/json" });
    watchers.add(stream);
    stream.on("close", () => watchers.delete(stream));
    return;
  }
  const received: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => received.push(chunk));
  stream.on("end", () => {
    const body = bodyOf(path);
    stream.respond({ ":status": 200, ...headersOf(body) });
    stream.end(body);
    if (received.length === 0 || watchers.size === 0) return;
    const line = Buffer.concat([...received, Buffer.from("\n")]);
    for (const watcher of watchers) watcher.write(line);
  });
});
server.on("request", (request: IncomingMessage, response: ServerResponse) => {
  request.resume();
  request.on("end", () => {
    const body = bodyOf(request.url ?? "");
    response.writeHead(200, headersOf(body));
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`https://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on("SIGTERM", () => process.exit());
