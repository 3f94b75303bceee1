// A key whose rules only read opens no connection into a container, a node or a service, over any protocol; one with create opens all of them.

import { readFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey } from "../e2e/testing/http-client.ts";
import { INSTANCES, MANAGEMENT, type ProxiedPod, proxyPod } from "../e2e/testing/proxied-pod.ts";
import {
  openHttp1,
  openHttp2,
  openHttp2Socket,
  openSpdy,
  openWebSocket,
  type StreamOpener,
} from "./testing/open-streams.ts";

const INSIDE = "/kubernetes/project/default/virtualcluster/pods";
const POD = `${INSIDE}/api/v1/namespaces/default/pods/web`;
const COMMAND = "command=true&stdout=true";

/** HTTP/2 has no Upgrade: a client that sends the header of HTTP/1.1 all the same breaks RFC 9113. */
const withMethod =
  (method: string): StreamOpener =>
  async (server, { path, key }) => {
    const session = connectHttp2(server.url, { ca: await readFile(server.caFile) });
    session.on("error", () => undefined);
    const stream = session.request({ ":method": method, ":path": path, authorization: `Bearer ${key}` });
    const ended = new Promise<number>((end) => stream.once("close", () => end(0)));
    const status = await new Promise<number>((resolve) => {
      stream.once("response", (head) => resolve(Number(head[":status"])));
      stream.once("error", () => resolve(0));
    });
    return { status, text: () => "", ended, close: () => session.destroy() };
  };

const WAYS: readonly (readonly [string, StreamOpener])[] = [
  ["WebSocket", openWebSocket],
  ["WebSocket over HTTP/2 (RFC 8441)", openHttp2Socket],
  ["SPDY by POST", openSpdy],
  ["GET over HTTP/1.1", openHttp1],
  ["GET over HTTP/2", openHttp2],
  ["HEAD over HTTP/2", withMethod("HEAD")],
  ["OPTIONS over HTTP/2", withMethod("OPTIONS")],
  ["PUT over HTTP/2", withMethod("PUT")],
  ["DELETE over HTTP/2", withMethod("DELETE")],
];
const UPGRADES = WAYS.slice(0, 3);

/** Each leads into something that runs, whatever the protocol. */
const CONNECTIONS: readonly string[] = [
  `${POD}/exec?${COMMAND}`,
  `${POD}/exec/?${COMMAND}`,
  `${POD}/exec?watch=true&${COMMAND}`,
  `${POD}/%65xec?${COMMAND}`,
  `${POD}/attach?stdout=true`,
  `${POD}/portforward?ports=80`,
  `${INSIDE}/api/v1/watch/namespaces/default/pods/web/exec?${COMMAND}`,
  `${INSIDE}/api/v1/nodes/one/proxy/exec/default/web/main?${COMMAND}`,
  `${INSIDE}/api/v1/nodes/one/proxy/run/default/web/main?cmd=true`,
  `${INSIDE}/api/v1/nodes/one/proxy/attach/default/web/main`,
  `${INSIDE}/api/v1/nodes/one/proxy/portForward/default/web`,
  `${INSIDE}/api/v1/nodes/one/proxy/EXEC/default/web/main`,
  `${INSIDE}/api/v1/nodes/one/proxy/cri/exec/token`,
  `${INSIDE}/api/v1/nodes/https:one:10250/proxy/exec/default/web/main`,
];
/** Each is a read until it is upgraded. */
const UPGRADED: readonly string[] = [
  `${POD}/proxy/shell`,
  `${POD}/proxy/`,
  `${POD}`,
  `${INSIDE}/api/v1/namespaces/default/services/web/proxy/shell`,
  `${INSIDE}/api/v1/namespaces/default/services/https:web:443/proxy/shell/`,
  `${INSIDE}/api/v1/nodes/one/proxy/containerLogs/default/web/main?follow=true`,
  `${INSIDE}/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/vm/console`,
  `${INSIDE}/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/vm/vnc`,
];
const READS: readonly string[] = [
  `${POD}/log?follow=true`,
  `${INSIDE}/api/v1/namespaces/default/pods?watch=true`,
  `${INSIDE}/api/v1/watch/namespaces/default/pods`,
];

describe("connections through the proxy", () => {
  let proxied: ProxiedPod;
  let reads = "";
  let writes = "";
  const keyWith = async (name: string, verbs: readonly string[]): Promise<string> => {
    const rules = [{ verbs, resources: [{ group: "*", resources: ["*"] }] }];
    const body = { metadata: { name }, spec: { user: "admin", rules } };
    return (await proxied.http(`${MANAGEMENT}/ownedaccesskeys`, { key: proxied.admin, body })).body.spec.key;
  };
  beforeAll(async () => {
    proxied = await proxyPod();
    expect(await adminKey(proxied.server)).toBe(proxied.admin);
    expect((await proxied.http(`${INSTANCES}/pods`, { key: proxied.admin })).status).toBe(200);
    reads = await keyWith("reads", ["get", "list", "watch"]);
    writes = await keyWith("writes", ["*"]);
  });
  afterAll(() => proxied?.[Symbol.asyncDispose]());

  const statusOf = async (open: StreamOpener, path: string, key: string): Promise<number> => {
    const stream = await open(proxied.server, { path, key });
    stream.close();
    return stream.status;
  };

  it.each(WAYS)("by %s are refused to a key that reads", async (_way, open) => {
    const before = proxied.pods.upgrades.length;
    const answers: (readonly [string, number])[] = [];
    for (const path of CONNECTIONS) answers.push([path, await statusOf(open, path, reads)]);
    expect(answers).toEqual(CONNECTIONS.map((path) => [path, 403]));
    expect(proxied.pods.upgrades.length).toBe(before);
  });

  it.each(UPGRADES)("by %s are refused where a plain GET reads", async (_way, open) => {
    const before = proxied.pods.upgrades.length;
    const answers: (readonly [string, number])[] = [];
    for (const path of UPGRADED) answers.push([path, await statusOf(open, path, reads)]);
    expect(answers).toEqual(UPGRADED.map((path) => [path, 403]));
    for (const path of UPGRADED) expect([path, await statusOf(openHttp2, path, reads)]).not.toEqual([path, 403]);
    expect(proxied.pods.upgrades.length).toBe(before);
  });

  it.each(UPGRADES.slice(0, 2))("by %s are open to a key that reads for logs and watches", async (_way, open) => {
    for (const path of READS) expect([path, await statusOf(open, path, reads)]).toEqual([path, 101]);
  });

  it.each(UPGRADES)("by %s are open to a key with create", async (_way, open) => {
    const before = proxied.pods.upgrades.length;
    for (const path of [`${POD}/exec?${COMMAND}`, `${POD}/attach?stdout=true`])
      expect([path, await statusOf(open, path, writes)]).toEqual([path, 101]);
    expect(proxied.pods.upgrades.length).toBe(before + 2);
  });

  it.each(["spdy/3.1", "WebSocket", "connect-tcp", "connect-udp", "connect-ip", ""])(
    "by CONNECT over HTTP/2 for %j are no tunnel, for any key",
    async (protocol) => {
      const session = connectHttp2(proxied.server.url, { ca: await readFile(proxied.server.caFile) });
      session.on("error", () => undefined);
      await new Promise((resolve) => session.once("remoteSettings", resolve));
      const before = proxied.pods.upgrades.length;
      const status = await new Promise<number>((resolve) => {
        const stream = session.request({
          ...{ ":method": "CONNECT", ":protocol": protocol, ":scheme": "https", ":path": `${POD}/exec?${COMMAND}` },
          authorization: `Bearer ${writes}`,
        });
        stream.once("response", (head) => resolve(Number(head[":status"])));
        stream.once("error", () => resolve(0));
      });
      session.destroy();
      expect([0, 400, 405, 501]).toContain(status);
      expect(proxied.pods.upgrades.length).toBe(before);
    },
  );
});
