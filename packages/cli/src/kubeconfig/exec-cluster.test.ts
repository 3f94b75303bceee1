// The plugin for ClusterProfiles: which virtual cluster it takes from the caller, and where it lets a credential go.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendJson, startTestServer, type TestServer } from "@postern/client/testing/test-server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { runCommand } from "../testing/run-command.ts";

let platform: TestServer;
let home: string;
let asked: string[];
let cluster: Record<string, unknown>;

const CONFIG = { project: "shop", namespace: "tenant-shop", virtualCluster: "web" };
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const pem = (body: string): string => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;

beforeAll(async () => {
  platform = await startTestServer();
  platform.respond(({ url = "" }, response) => {
    if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
    if (url.endsWith("/selfsubjectreviews")) return sendJson(response, {}, 201);
    asked.push(url);
    const kubeConfig = stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "shop-web", cluster }],
      users: [{ name: "shop-web", user: { token: "secret-token" } }],
      contexts: [{ name: "shop-web", context: { cluster: "shop-web", user: "shop-web" } }],
      "current-context": "shop-web",
    });
    sendJson(response, { status: { kubeConfig } }, 201);
  });
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "postern-exec-cluster-"));
  asked = [];
  const authority = base64(platform.certificatePem);
  cluster = {
    server: `${platform.url}/kubernetes/project/shop/virtualcluster/web`,
    "certificate-authority-data": authority,
  };
});
afterEach(() => rmSync(home, { recursive: true }));
afterAll(() => platform[Symbol.asyncDispose]());

/** `info` undefined: a person runs the command. */
const run = (info: object | undefined, args: readonly string[] = []) =>
  runCommand(["credentials", "get", ...args], {
    ...{ HOME: home, XDG_CACHE_HOME: home },
    ...{ POSTERN_URL: platform.url, POSTERN_TOKEN: "secret", POSTERN_CA: platform.certificatePem },
    ...(info === undefined ? {} : { KUBERNETES_EXEC_INFO: JSON.stringify(info) }),
  });
const infoOf = (spec: object, version = "v1") => ({
  apiVersion: `client.authentication.k8s.io/${version}`,
  kind: "ExecCredential",
  spec: { interactive: false, ...spec },
});
const profile = (change: object = {}) => infoOf({ cluster: { ...cluster, config: CONFIG, ...change } });

it.each(["v1", "v1beta1"])("gives a credential for the cluster that the caller names, in %s", async (version) => {
  const { code, stdout } = await run(infoOf({ cluster: { ...cluster, config: CONFIG } }, version));
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    apiVersion: `client.authentication.k8s.io/${version}`,
    kind: "ExecCredential",
    status: { token: "secret-token" },
  });
  expect(asked).toEqual([
    "/apis/management.example.com/v1/namespaces/tenant-shop/virtualclusterinstances/web/kubeconfig",
  ]);
});

describe("a credential is refused", () => {
  const url = (path: string): string => `${platform.url}${path}`;
  /** The CA of the platform, in base64 with padding at its end. */
  let padded = "";
  beforeAll(() => {
    const { certificatePem } = platform;
    padded = ["", " ", "  "].map((space) => base64(certificatePem + space)).find((text) => text.endsWith("=")) ?? "";
  });
  const authorities = (more: string) => ({ "certificate-authority-data": base64(platform.certificatePem + more) });
  it.each([
    ["another host", () => ({ server: "https://attacker.example.com/kubernetes/project/shop/virtualcluster/web" })],
    ["another virtual cluster of the platform", () => ({ server: url("/kubernetes/project/shop/virtualcluster/db") })],
    ["a path below", () => ({ server: url("/kubernetes/project/shop/virtualcluster/web/api/v1/proxy") })],
    ["a name before the host", () => ({ server: String(cluster["server"]).replace("https://", "https://user@") })],
    ["no TLS", () => ({ server: String(cluster["server"]).replace("https:", "http:") })],
    ["no server", () => ({ server: undefined })],
    ["another form of the host", () => ({ server: String(cluster["server"]).replace("localhost", "LOCALHOST") })],
    ["a line break in the host", () => ({ server: String(cluster["server"]).replace("localhost", "local\nhost") })],
    ["no verification", () => ({ "insecure-skip-tls-verify": true })],
    ["no verification, as another type", () => ({ "insecure-skip-tls-verify": 1 })],
    ["a CA that is no text", () => ({ "certificate-authority-data": [...Buffer.from(pem("QUJD"))] })],
    ["verification by another name", () => ({ "tls-server-name": "attacker.example.com" })],
    ["another CA", () => ({ "certificate-authority-data": base64(pem("QUJD")) })],
    ["one CA more", () => authorities(pem("QUJD"))],
    ["a CA with settings of OpenSSL", () => authorities(pem("QUJD").replaceAll("CERTIFICATE", "TRUSTED CERTIFICATE"))],
    ["a CA whose body ends before its end", () => authorities(pem("QUJD\n-"))],
    ["a CA behind the padding", () => ({ "certificate-authority-data": padded + base64(pem("QUJD")) })],
    ["a path that leads back to it", () => ({ server: url("/kubernetes/project/shop/virtualcluster/db/../web") })],
    ["a path with escapes", () => ({ server: url("/kubernetes/project/shop/virtualcluster/%77eb") })],
  ])("for a cluster with %s", async (_what, change) => {
    const { code, stdout, stderr } = await run(profile(change()));
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("refused a credential for");
    expect(stderr).not.toContain("secret-token");
    // Also where it is in the cache.
    await run(profile());
    expect(await run(profile(change()))).toMatchObject({ code: 1, stdout: "" });
    expect(asked).toHaveLength(1);
  });

  it("for a proxy that would read it", async () => {
    cluster = { server: "http://platform.example.com/kubernetes/project/shop/virtualcluster/web" };
    expect(await run(profile())).toMatchObject({ code: 0 });
    expect(await run(profile({ "proxy-url": "http://proxy.example.com" }))).toMatchObject({ code: 1, stdout: "" });
  });
});

it.each([
  ["a slash at the end", () => ({ server: `${String(cluster["server"])}/` })],
  ["the name of the server", () => ({ "tls-server-name": new URL(platform.url).hostname })],
  ["no CA, so that public ones verify it", () => ({ "certificate-authority-data": undefined })],
  ["a proxy", () => ({ "proxy-url": "http://proxy.example.com" })],
])("a credential is given for the same cluster with %s", async (_what, change) => {
  expect(await run(profile(change()))).toMatchObject({ code: 0 });
});

it("takes the CA of the connection where the platform names none", async () => {
  const { "certificate-authority-data": authority, ...rest } = cluster;
  cluster = rest;
  expect(await run(profile({ "certificate-authority-data": authority }))).toMatchObject({ code: 0 });
});

describe("says what to configure", () => {
  it.each([
    ["without a caller", () => undefined, "name a virtual cluster"],
    ["without a version", () => ({ spec: {} }), "KUBERNETES_EXEC_INFO has no apiVersion"],
    ["without a cluster", () => infoOf({}), "set provideClusterInfo: true where the plugin is configured, or name the"],
    ["without a configuration", () => infoOf({ cluster }), "its ClusterProfile needs the extension"],
    ["for half a configuration", () => profile({ config: { project: "shop" } }), "it needs project, namespace and"],
    ["for a path", () => profile({ config: { ...CONFIG, virtualCluster: "../x" } }), "it needs project, namespace and"],
    [
      "for a foreign namespace",
      () => profile({ config: { ...CONFIG, namespace: "x" } }),
      "has the namespace x, which is not that of the project shop",
    ],
    ["for another version", () => infoOf({}, "v2"), "only client.authentication.k8s.io/v1 and"],
  ])("%s", async (_what, info, text) => {
    const { code, stdout, stderr } = await run(info());
    expect([code, stdout, asked]).toEqual([1, "", []]);
    expect(stderr).toContain(text);
  });

  it.each([
    ["--cluster-server", "https://attacker.example.com"],
    ["--endpoint", "Cluster"],
  ])("with %s, which an argument of a ClusterProfile could be", async (...args) => {
    const { code, stderr } = await run(profile(), args);
    expect([code, asked]).toEqual([1, []]);
    expect(stderr).toContain("need the name of a virtual cluster");
  });
});
