// Agents of many clusters in one process: each answers watches with events, and everything else at once.

import type { ServerHttp2Stream } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { GOOD_ANSWER, openFakeTunnel } from "@postern/platform/features/cluster-tunnels/testing/fake-agent";
import { takeOrders } from "./fork-worker.ts";

export type AgentsOrder =
  /** Opens so many tunnels with each of the keys. */
  | {
      readonly kind: "open";
      readonly url: string;
      readonly caPath: string;
      readonly keys: readonly string[];
      readonly tunnels: number;
    }
  /** Sends events to the watches in turns. */
  | { readonly kind: "send"; readonly events: number; readonly seconds: number };

const EVENT = `${JSON.stringify({ type: "MODIFIED", object: { kind: "ConfigMap", metadata: { name: "a" }, data: { a: "x".repeat(500) } } })}\n`;
const CHUNK = Buffer.from(`${Buffer.byteLength(EVENT).toString(16)}\r\n${EVENT}\r\n`);
const HEAD = Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
const ANSWER = Buffer.from(GOOD_ANSWER);
const SLEPT_MS = 20;

/** Streams of tunnels on which a watch is open. */
const watched: ServerHttp2Stream[] = [];

takeOrders<AgentsOrder>(async (order) => {
  if (order.kind === "open") {
    const { url, caPath, keys, tunnels } = order;
    for (const key of keys)
      for (let at = 0; at < tunnels; at++) await openFakeTunnel({ server: { caPath, url } }, { key }, serve);
    return;
  }
  const { events, seconds } = order;
  const begun = performance.now();
  for (let sent = 0; sent < events; sent++) {
    watched[sent % watched.length]?.write(CHUNK);
    const ahead = (sent / events) * seconds * 1_000 - (performance.now() - begun);
    if (ahead > SLEPT_MS) await sleep(ahead);
  }
});

function serve(stream: ServerHttp2Stream): void {
  stream.respond({ ":status": 200 });
  stream.on("data", (chunk: Buffer) => {
    const head = chunk.toString("latin1");
    if (!head.endsWith("\r\n\r\n")) return;
    if (/^GET \S*[?&]watch=/.test(head)) {
      stream.write(HEAD);
      watched.push(stream);
    } else stream.write(ANSWER);
  });
}
