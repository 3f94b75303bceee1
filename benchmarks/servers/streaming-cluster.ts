// As much of an API server as an agent asks for: short objects, watches with an event a second, and logs of any length.
// Usage: node --import tsx benchmarks/servers/streaming-cluster.ts <certificate> <key>

import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

const [certificate = "", key = ""] = process.argv.slice(2);
const CHUNK = Buffer.alloc(64 << 10, "0123456789abcdef");
const MAP = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" }, data: { text: "x".repeat(700) } };
const EVENT = `${JSON.stringify({ type: "MODIFIED", object: MAP })}\n`;
const ANSWERS: { readonly [path: string]: object } = {
  "/version": { major: "1", minor: "36", gitVersion: "v1.36.2" },
  "/api/v1/namespaces/kube-system": { metadata: { name: "kube-system", uid: "0b0e5c7e-0000-4000-8000-0000000000cc" } },
};

const watches = new Set<ServerResponse>();
setInterval(() => {
  for (const watch of watches) watch.write(EVENT);
}, 1_000);

async function serve(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(incoming.url ?? "/", "https://cluster");
  if (pathname.endsWith("/log")) {
    answer.writeHead(200, { "content-type": "text/plain" });
    for (let left = Number(searchParams.get("limitBytes")); left > 0; left -= CHUNK.length)
      if (!answer.write(CHUNK)) await once(answer, "drain");
    return void answer.end();
  }
  answer.writeHead(200, { "content-type": "application/json" });
  if (searchParams.has("watch")) {
    watches.add(answer);
    answer.once("close", () => watches.delete(answer));
    return answer.flushHeaders();
  }
  answer.end(JSON.stringify(ANSWERS[pathname] ?? MAP));
}

const server = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (incoming, answer) => {
  serve(incoming, answer).catch(() => answer.destroy());
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(`https://127.0.0.1:${port}`);
});
