// Tunnels of clusters and watches through them: memory and processor time of the server at rest, with the tunnels, with the watches, and for each event. The
// agents and the watchers are in this process.
// Usage: npm run build && npx tsx --conditions=@postern/source benchmarks/cluster-tunnels.ts [--clusters 200] [--watches 10000] [--events 20000] [--seconds 20]

import { mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect, type ServerHttp2Stream } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  type FakeAgent,
  GOOD_ANSWER,
  openFakeTunnel,
  PEER_UID,
} from "@postern/platform/features/cluster-tunnels/testing/fake-agent";
import { type Row, renderTable } from "./report/render-table.ts";
import { GROUP } from "./servers/access-key-object.ts";
import { askText } from "./servers/ask-text.ts";
import { cpuSeconds, residentMegabytes } from "./servers/measured-server.ts";
import { MAIN, startPostern } from "./servers/start-postern.ts";

const { values: options } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== "--"),
  options: {
    clusters: { type: "string", default: "200" },
    watches: { type: "string", default: "10000" },
    events: { type: "string", default: "20000" },
    seconds: { type: "string", default: "20" },
  },
});
const [clusters, watches, events, seconds] = [options.clusters, options.watches, options.events, options.seconds].map(
  Number,
) as [number, number, number, number];
const TUNNELS = 2;
/** Of one connection of a client: the server takes no more streams. */
const STREAMS = 90;
const EVENT = `${JSON.stringify({ type: "MODIFIED", object: { kind: "ConfigMap", metadata: { name: "a" }, data: { a: "x".repeat(500) } } })}\n`;
const CHUNK = Buffer.from(`${Buffer.byteLength(EVENT).toString(16)}\r\n${EVENT}\r\n`);
const HEAD = Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
const ANSWER = Buffer.from(GOOD_ANSWER);

const folder = mkdtempSync(join(tmpdir(), "postern-tunnels-"));
const rows: Row[] = [];
/** Streams of tunnels on which a watch is open. */
const watched: ServerHttp2Stream[] = [];
const opened: Disposable[] = [];
try {
  await using server = await startPostern(folder, MAIN);
  const { target } = server;
  const measure = async (what: string, work: () => Promise<number>): Promise<void> => {
    const [before, begun] = [cpuSeconds(server) ?? 0, performance.now()];
    const count = await work();
    const used = (cpuSeconds(server) ?? 0) - before;
    const elapsed = (performance.now() - begun) / 1_000;
    rows.push({
      "": what,
      "resident MB": (residentMegabytes(server) ?? 0).toFixed(0),
      "share of a core": (used / elapsed).toFixed(3),
      "µs each": count === 0 ? "" : ((used * 1e6) / count).toFixed(0),
    });
    console.error(rows.at(-1));
  };
  const rest = async (): Promise<number> => {
    await sleep(seconds * 1_000);
    return 0;
  };

  await measure("no tunnel, at rest", rest);
  const agents: FakeAgent[] = [];
  await measure(`${clusters} clusters join`, async () => {
    for (let at = 0; at < clusters; at++) {
      const body = { metadata: { name: `c${at}` }, spec: { networkPeer: true } };
      await askText(target, "POST", `/apis/${GROUP}/v1/clusters`, JSON.stringify(body));
      const made = JSON.parse(await askText(target, "POST", `/apis/${GROUP}/v1/clusters/c${at}/join`, "{}"));
      const value = made.status.url.slice(made.status.url.lastIndexOf("/") + 1);
      const exchanged = await askText(target, "POST", "/join", JSON.stringify({ value, clusterUid: PEER_UID }));
      const { key } = JSON.parse(exchanged);
      const platform = { server: { caPath: join(folder, "ca.crt"), url: target.url } };
      for (let tunnel = 0; tunnel < TUNNELS; tunnel++) agents.push(await openFakeTunnel(platform, { key }, serve));
    }
    return clusters;
  });
  await measure(`${agents.length} tunnels, at rest`, rest);

  const received = { events: 0 };
  await measure(`${watches} watches begin`, async () => {
    for (let from = 0; from < watches; from += STREAMS) {
      const session = connect(target.url, { ...(target.ca === undefined ? {} : { ca: target.ca }) });
      opened.push({ [Symbol.dispose]: () => session.destroy() });
      const those = Array.from({ length: Math.min(STREAMS, watches - from) }, (_, at) => from + at);
      await Promise.all(those.map((at) => openWatch(session, `c${at % clusters}`, target.token, received)));
    }
    return watches;
  });
  await measure(`${watches} watches, at rest`, rest);

  await measure(`${events} events in ${seconds} s`, async () => {
    const until = received.events + events;
    const begun = performance.now();
    for (let sent = 0; sent < events; sent++) {
      watched[sent % watched.length]?.write(CHUNK);
      const ahead = (sent / events) * seconds * 1_000 - (performance.now() - begun);
      if (ahead > 20) await sleep(ahead);
    }
    while (received.events < until) await sleep(20);
    return events;
  });
  for (const each of opened) each[Symbol.dispose]();
  for (const agent of agents) agent.session.destroy();
} finally {
  rmSync(folder, { recursive: true });
}
console.log(renderTable(rows));
process.exit(0);

/** The API server of a cluster: watches stay open, everything else is answered at once. */
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

function openWatch(
  session: ClientHttp2Session,
  cluster: string,
  token: string,
  received: { events: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":path": `/kubernetes/cluster/${cluster}/api/v1/namespaces/default/configmaps?watch=1`,
      authorization: `Bearer ${token}`,
    });
    stream.on("error", reject);
    stream.once("response", ({ ":status": status }) => {
      if (status === 200) resolve();
      else reject(new Error(`a watch was answered with ${status}`));
    });
    stream.on("data", (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) received.events += 1;
    });
  });
}
