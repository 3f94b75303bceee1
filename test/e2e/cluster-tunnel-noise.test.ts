// A tunnel over a bad network, at random: 100 ms late, cut, stalled and dead without a word. Watches resume, no event comes twice or is left out, a body is
// whole or an error, and no request hangs.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Server as Bulk, createServer, type IncomingMessage } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Harm, type NoisyRelay, startNoisyRelay } from "./testing/noisy-relay.ts";
import { temporaryDirectory } from "./testing/postern-process.ts";
import {
  type AgentProcess,
  joinValue,
  startAgent,
  writeAgentState,
  writeFarKubeconfig,
} from "./testing/tunnelled-cluster.ts";
import { clusterPath, type Server, startServer } from "./testing/two-posterns.ts";
import { writeKubeconfig } from "./testing/write-kubeconfig.ts";

const WAIT = { timeout: 120_000, interval: 200 };
const THROUGH = "/kubernetes/cluster/edge";
const MAPS = "/api/v1/namespaces/default/configmaps";
const DIRECT = `${clusterPath("demo")}${MAPS}`;
const DELAY_MS = 50;
const ROUNDS = Number(process.env["NOISE_ROUNDS"] ?? 25);
const WATCHES = 4;
/** A dead peer is found after 15 s, and a dialled stream after 10; and this machine may be busy. */
const HANGS_MS = 20_000 * 2;
const BULK = "/kubernetes/cluster/bulk";
const LOG = "/api/v1/namespaces/default/pods/web/log";
const BODY_BYTES = 100 << 20;
const CHUNK_BYTES = 64 << 10;

const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const next = randomNumbers(seed);
const random = (): number => next(1 << 20) / (1 << 20);
/** Of the whole body. */
let EXPECTED = "";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: Server;
let far: Server;
let relay: NoisyRelay;
let agents: readonly AgentProcess[] = [];
let bulk: Bulk;
let ca: Buffer;

beforeAll(async () => {
  directory = await temporaryDirectory();
  [near, far] = await Promise.all([
    startServer(join(directory.path, "near"), ["--proxy-health-check-interval-seconds", "1"]),
    startServer(join(directory.path, "far")),
  ]);
  ca = await readFile(near.process.caFile);
  relay = await startNoisyRelay({ host: "127.0.0.1", port: Number(new URL(near.process.url).port) }, DELAY_MS);
  bulk = await serveBulk();
  const whole = createHash("sha256");
  for (const chunk of bodyOf(BODY_BYTES)) whole.update(chunk);
  EXPECTED = whole.digest("hex");
  const edge = await writeFarKubeconfig(far, join(directory.path, "far.kubeconfig"));
  const { port } = bulk.address() as AddressInfo;
  const server = `http://127.0.0.1:${port}`;
  const ofBulk = await writeKubeconfig(join(directory.path, "bulk.kubeconfig"), { server, token: "of-the-agent" });
  const start = async (name: string, kubeconfig: string): Promise<AgentProcess> => {
    const value = await joinValue(near, name);
    const stateFile = await writeAgentState(near, join(directory.path, `${name}-agent.key`), value, relay.url);
    return startAgent({ stateFile, kubeconfig });
  };
  agents = [await start("edge", edge), await start("bulk", ofBulk)];
  const group = "rbac.authorization.k8s.io";
  await far.send(`${clusterPath("demo")}/apis/${group}/v1/clusterrolebindings`, {
    ...{ apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name: "near-admin" } },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: group, kind: "User", name: "admin" }],
  });
});
afterAll(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]();
  bulk?.closeAllConnections();
  bulk?.close();
  relay?.close();
  await near?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const isReached = () =>
  expect.poll(async () => (await near.http(`${THROUGH}/version`, { key: near.key })).status, WAIT).toBe(200);

/** Rejects where the answer breaks off, is an error, or nothing comes for too long. */
async function begin(path: string, signal: AbortSignal): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${near.key}` };
    const sent = request(`${near.process.url}${path}`, { ca, agent: false, headers, signal });
    sent.on("error", reject);
    sent.once("response", (response) => {
      response.on("error", () => undefined);
      if (response.statusCode === 200) return resolve(response);
      response.resume();
      reject(new Error(`${response.statusCode}`));
    });
    sent.end();
  });
}

/** As an informer: from the version that it has seen last. `seen` has the version of each event. */
async function watchOn(from: string, seen: string[], faults: string[], stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      const response = await begin(`${THROUGH}${MAPS}?watch=1&resourceVersion=${seen.at(-1) ?? from}`, stop);
      let rest = "";
      for await (const chunk of response.setEncoding("utf8")) {
        const lines = (rest + String(chunk)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          const { type, object } = JSON.parse(line);
          if (type !== "ADDED") faults.push(line.slice(0, 200));
          seen.push(object.metadata.resourceVersion);
        }
      }
    } catch {
      await sleep(200);
    }
  }
}

it(`brings each event once and lets no request hang (SEED=${seed})`, { timeout: 900_000 }, async () => {
  await isReached();
  const { metadata } = await far.send(DIRECT);
  const stop = new AbortController();
  const faults: string[] = [];
  const watched = Array.from({ length: WATCHES }, (): string[] => []);
  const watching = watched.map((seen) => watchOn(metadata.resourceVersion, seen, faults, stop.signal));
  const versions: string[] = [];
  let [answered, refused] = [0, 0];
  const asking = Array.from({ length: WATCHES }, async () => {
    while (!stop.signal.aborted) {
      const hanging = AbortSignal.timeout(HANGS_MS);
      try {
        for await (const _ of await begin(`${THROUGH}/version`, hanging));
        answered += 1;
      } catch {
        if (hanging.aborted) faults.push("a request hung");
        refused += 1;
        await sleep(100);
      }
    }
  });
  const bodies = readBodies(stop.signal, faults);
  const harms: readonly Harm[] = ["cut", "cut", "stall", "vanish"];
  for (let round = 0; round < ROUNDS; round++) {
    for (let count = Math.floor(random() * 5); count > 0; count--) {
      const made = await far.send(DIRECT, { metadata: { name: `map-${versions.length}` } });
      versions.push(made.metadata.resourceVersion);
    }
    const harm = harms[Math.floor(random() * harms.length)];
    if (harm !== undefined) relay.harm(harm, random);
    await sleep(random() * 3_000);
  }
  await isReached();
  await expect.poll(() => watched.map((seen) => seen.length), WAIT).toEqual(watched.map(() => versions.length));
  stop.abort();
  await Promise.all([...watching, ...asking, bodies]);
  expect(faults).toEqual([]);
  for (const seen of watched) expect(seen).toEqual(versions);
  expect(answered).toBeGreaterThan(0);
  process.stdout.write(
    `${versions.length} events, ${answered} answers, ${refused} refusals, ${await bodies} bodies cut\n`,
  );
});

it("brings a body of 100 MB whole, while the network is slow alone", { timeout: 900_000 }, async () => {
  await expect.poll(async () => (await near.http(`${BULK}/version`, { key: near.key })).status, WAIT).toBe(200);
  expect(await hashOfBody(AbortSignal.timeout(600_000))).toBe(EXPECTED);
});

/** Each byte has one place alone: a piece that comes twice, or is left out, changes the hash. */
function* bodyOf(bytes: number): Generator<Buffer> {
  for (let at = 0; at < bytes; at += CHUNK_BYTES) {
    const chunk = Buffer.alloc(CHUNK_BYTES, "0123456789abcdef");
    chunk.writeUInt32BE(at, 0);
    yield chunk;
  }
}

/** Rejects where the body is not whole for the client. */
async function hashOfBody(signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of await begin(`${BULK}${LOG}`, signal)) hash.update(chunk);
  return hash.digest("hex");
}

/** Resolves with how many bodies broke off. */
async function readBodies(stop: AbortSignal, faults: string[]): Promise<number> {
  let broken = 0;
  while (!stop.aborted) {
    try {
      if ((await hashOfBody(stop)) !== EXPECTED) faults.push("a body that is whole for its reader has other bytes");
    } catch {
      broken += 1;
      await sleep(200);
    }
  }
  return broken;
}

/** As much of an API server as the agent and the health check ask for, and a log. */
function serveBulk(): Promise<Bulk> {
  const bulk = createServer((incoming, answer) => {
    const { pathname } = new URL(incoming.url ?? "/", "http://cluster");
    if (pathname === LOG) {
      answer.writeHead(200, { "content-type": "text/plain" });
      Readable.from(bodyOf(BODY_BYTES))
        .on("error", () => answer.destroy())
        .pipe(answer);
      return;
    }
    const answers: { readonly [path: string]: object } = {
      "/version": { major: "1", minor: "36", gitVersion: "v1.36.2" },
      "/api/v1/namespaces/kube-system": {
        metadata: { name: "kube-system", uid: "0b0e5c7e-0000-4000-8000-0000000000cc" },
      },
    };
    answer.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answers[pathname] ?? {}));
  });
  return new Promise((resolve) => bulk.listen(0, "127.0.0.1", () => resolve(bulk)));
}
