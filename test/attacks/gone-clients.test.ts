// Clients that go away at any moment leave nothing in the server: no request in its threads, no place among those that are worked on, no watch.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import {
  startWebhookServer,
  type WebhookServer,
} from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import { startOwnServer } from "../e2e/testing/own-server.ts";
import { ENDED_THREADS, type PosternProcess } from "../e2e/testing/postern-process.ts";
import { CONFIG_MAPS, createCluster, INSTANCES, metric, POLL, pathOf } from "./testing/threads/clusters.ts";

const SEED = Number(process.env["TEST_SEED"]);
const REQUESTS = Number(process.env["GONE_CLIENTS"] ?? 400);
const AT_ONCE = 20;
const CLUSTERS = ["one", "two"];
const HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const UPGRADE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": Buffer.alloc(16, 7).toString("base64"),
};

let webhook: WebhookServer;
beforeAll(async () => {
  webhook = await startWebhookServer();
  // So late that most clients have gone.
  webhook.raw.set("/slow", async (_request, response, review) => {
    await sleep(200);
    const { apiVersion, kind } = review;
    const answer = { uid: review.request.uid, allowed: true };
    response.setHeader("content-type", "application/json").end(JSON.stringify({ apiVersion, kind, response: answer }));
  });
});
afterAll(() => webhook?.[Symbol.asyncDispose]());

describe.each([0, 1, 2])("with %i cluster threads", (threads) => {
  it(`leave nothing behind (TEST_SEED=${SEED}, GONE_CLIENTS=${REQUESTS})`, async () => {
    await using server = await startOwnServer(
      ["--cluster-threads", String(threads), "--proxy-allowed-addresses", "127.0.0.1"],
      { env: { NODE_OPTIONS: `--import=${ENDED_THREADS}` } },
    );
    const [send, key] = [await httpClient(server), await adminKey(server)];
    for (const name of CLUSTERS) await prepare(send, key, name);
    const leave = await leavingClient(server, key);
    const draw = randomNumbers(SEED);
    let asked = 0;
    const clients = Array.from({ length: AT_ONCE }, async () => {
      while (asked++ < REQUESTS) {
        const name = CLUSTERS[draw(CLUSTERS.length)] ?? "";
        await leave(pathOf(name, pathAt(draw(6))), draw(6), draw(150));
        // Threads end, and a cluster is deleted, while others are asked for.
        if (threads > 0 && asked === Math.floor(REQUESTS / 3)) process.kill(server.pid, "SIGUSR2");
        if (asked === Math.floor((REQUESTS * 2) / 3)) await send(`${INSTANCES}/two`, { key, method: "DELETE" });
      }
    });
    await Promise.all(clients);
    const left = async () => ({
      mutating: await metric(send, key, "apiserver_current_inflight_requests", 'request_kind="mutating"'),
      readOnly: await metric(send, key, "apiserver_current_inflight_requests", 'request_kind="readOnly"'),
      // The request for the metrics itself is an administrator's.
      urgent: await metric(send, key, "apiserver_current_inflight_requests", 'request_kind="urgent"'),
      longRunning: await metric(send, key, "apiserver_longrunning_requests"),
      forwarded: await metric(send, key, "postern_thread_requests"),
      served: await metric(send, key, "postern_thread_served_requests"),
    });
    const nothing = { mutating: 0, readOnly: 0, urgent: 1, longRunning: 0, forwarded: 0, served: 0 };
    await expect.poll(left, { ...POLL, timeout: 20_000 }).toEqual(nothing);
    expect((await send(pathOf("one", CONFIG_MAPS), { key })).status).toBe(200);
  }, 180_000);
});

const pathAt = (kind: number): string =>
  [
    `${CONFIG_MAPS}/kube-root-ca.crt`,
    `${CONFIG_MAPS}?limit=5`,
    `${CONFIG_MAPS}?watch=true`,
    `${CONFIG_MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    "/api/v1/secrets",
    CONFIG_MAPS,
  ][kind] ?? CONFIG_MAPS;

async function prepare(send: HttpClient, key: string, name: string): Promise<void> {
  await createCluster(send, key, name);
  for (let count = 0; count < 60; count++) {
    const body = { metadata: { name: `filled-${count}` }, data: { text: "x".repeat(20_000) } };
    expect((await send(pathOf(name, CONFIG_MAPS), { key, body })).status).toBe(201);
  }
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] };
  const hook = {
    name: "slow.example.com",
    rules: [rule],
    clientConfig: { url: `${webhook.url}/slow`, caBundle: webhook.caBundle },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    failurePolicy: "Ignore",
  };
  const made = await send(pathOf(name, HOOKS), { key, body: { metadata: { name: "slow" }, webhooks: [hook] } });
  expect(made.status, made.text).toBe(201);
}

/** Sends a request and hangs up after so many milliseconds, or at its end. `way`: 0 and 1 write, 2 is a WebSocket, all others read. */
async function leavingClient(server: PosternProcess, key: string) {
  const ca = await readFile(server.caFile);
  let written = 0;
  return async (path: string, way: number, afterMs: number): Promise<void> => {
    const isWrite = way < 2;
    const body = isWrite ? JSON.stringify({ metadata: { name: `gone-${++written}` } }) : undefined;
    const target = isWrite
      ? path
          .replace(/\/configmaps.*|\/secrets/, "/configmaps")
          .replace("/v1/configmaps", "/v1/namespaces/default/configmaps")
      : path;
    const sent = request(`${server.url}${target}`, {
      ca,
      agent: false,
      method: isWrite ? "POST" : "GET",
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
        ...(way === 2 && path.includes("watch") && UPGRADE),
      },
    });
    let upgraded: Duplex | undefined;
    // A request that was upgraded is closed at once, and its socket is not.
    const closed = once(sent, "close").then(() => upgraded && once(upgraded, "close"));
    sent.on("error", () => undefined);
    sent.on("response", (response) => response.on("error", () => undefined).resume());
    sent.on("upgrade", (_response, socket) => {
      upgraded = socket.on("error", () => undefined).resume();
    });
    sent.end(body);
    const timer = setTimeout(() => {
      sent.destroy();
      upgraded?.destroy();
    }, afterMs);
    await closed.catch(() => undefined);
    clearTimeout(timer);
  };
}
