// A machine behind the HTTP proxy of a company: commands reach the platform through it where kubectl does, and only there.

import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { adminKey } from "./testing/http-client.ts";
import { type HttpProxy, startHttpProxy } from "./testing/http-proxy.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { ENTRY, NODE, type Outcome, succeed, tool } from "./testing/postern-process.ts";

/** A name that the proxy alone can resolve. */
const HOST = "platform.invalid";

let server: OwnServer;
let proxy: HttpProxy;
let kubectl: string;
let home: string;
let url: string;
let key: string;
let count = 0;

beforeAll(async () => {
  [server, { kubectl }] = await Promise.all([
    startOwnServer(["--tls-san", HOST, "--external-hostname", HOST]),
    kubernetesTools("1.35"),
  ]);
  const { port } = new URL(server.url);
  url = `https://${HOST}:${port}`;
  key = await adminKey(server);
});
beforeEach(async () => {
  home = join(server.directory, `home-${++count}`);
  await mkdir(home);
  proxy?.close();
  proxy = await startHttpProxy();
  proxy.lead({ host: "127.0.0.1", port: Number(new URL(server.url).port) });
});
afterAll(async () => {
  proxy?.close();
  await server?.[Symbol.asyncDispose]();
});

const run = (variables: readonly string[], args: readonly string[], input?: string): Promise<Outcome> =>
  tool("env", ["-i", `HOME=${home}`, `PATH=${dirname(NODE)}:/usr/bin:/bin`, ...variables, ...args], input);
const postern = (variables: readonly string[], args: readonly string[], input?: string): Promise<Outcome> =>
  run(variables, [NODE, ENTRY, ...args], input);
const HTTPS_PROXY = () => `HTTPS_PROXY=${proxy.url}`;

it("a person signs in, gets a kubeconfig, and works with it", async () => {
  const login = ["login", url, "--name", "work", "--key-file", "-"];
  const refused = await postern([HTTPS_PROXY()], login, key);
  const [, fingerprint = ""] = /--ca-fingerprint (\S+)/.exec(refused.stderr) ?? [];
  await succeed(postern([HTTPS_PROXY()], [...login, "--ca-fingerprint", fingerprint], key));
  const file = join(home, "demo.kubeconfig");
  await succeed(postern([HTTPS_PROXY()], ["kubeconfig", "demo", "--exec", "--out", file]));
  // kubectl passes its variables on to the credential plugin. The second call tests what the plugin has kept.
  for (let call = 0; call < 2; call += 1) {
    const get = [kubectl, "--kubeconfig", file, "get", "namespace", "default", "-o", "name"];
    expect(await succeed(run([HTTPS_PROXY()], get))).toBe("namespace/default\n");
  }
  expect(proxy.targets()).toEqual([new URL(url).host]);
  const direct = await postern([], ["whoami"]);
  expect([direct.code, direct.stderr]).toEqual([1, expect.stringContaining("unknown host")]);
});

/** The name of the server, and what the environment excludes. */
const WAYS: readonly (readonly [host: string, variables: readonly string[]])[] = [
  [HOST, []],
  [HOST, ["NO_PROXY=other.invalid, .invalid.com"]],
  [HOST, [`NO_PROXY=${HOST}`]],
  [HOST, ["NO_PROXY=.invalid"]],
  [HOST, ["no_proxy=*"]],
  [HOST, ["NO_PROXY=invalid:1"]],
  ["localhost", []],
  ["127.0.0.1", []],
  ["192.0.2.1", ["NO_PROXY=192.0.2.2"]],
];

it.each(WAYS)("postern takes the way of kubectl to %s with %j", async (host, variables) => {
  const { port } = new URL(server.url);
  const file = join(home, "platform.kubeconfig");
  const cluster = { server: `https://${host}:${port}`, "certificate-authority": server.caFile };
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "one" },
    clusters: [{ name: "one", cluster }],
    users: [{ name: "one", user: { token: key } }],
    contexts: [{ name: "one", context: { cluster: "one", user: "one" } }],
  };
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  const given = [HTTPS_PROXY(), ...variables];
  await run(given, [
    "timeout",
    "10",
    kubectl,
    "--kubeconfig",
    file,
    "--request-timeout=2s",
    "get",
    "--raw",
    "/version",
  ]);
  const theirs = proxy.targets();
  const other = await startHttpProxy();
  other.lead({ host: "127.0.0.1", port: Number(port) });
  await run([`HTTPS_PROXY=${other.url}`, ...variables], ["timeout", "10", NODE, ENTRY, "whoami", "--kubeconfig", file]);
  expect(other.targets()).toEqual(theirs);
  other.close();
});

it("a kubeconfig may name the proxy itself", async () => {
  const file = join(home, "platform.kubeconfig");
  await writeFile(file, "", { mode: 0o600 });
  const set = (...args: readonly string[]) => succeed(run([], [kubectl, "config", "--kubeconfig", file, ...args]));
  await set(
    "set-cluster",
    "one",
    `--server=${url}`,
    `--certificate-authority=${server.caFile}`,
    `--proxy-url=${proxy.url}`,
  );
  await set("set-credentials", "one", `--token=${key}`);
  await set("set-context", "one", "--cluster=one", "--user=one");
  expect(await succeed(postern([], ["whoami", "--kubeconfig", file, "--context", "one"]))).toContain("user admin");
  expect(proxy.targets()).toEqual([new URL(url).host]);
});

it("a proxy that asks for a password gets the one of its URL, and a refusal is named", async () => {
  const asked: (string | undefined)[] = [];
  const strict = createServer();
  strict.on("connect", ({ headers }, socket) => {
    asked.push(headers["proxy-authorization"]);
    socket.end("HTTP/1.1 407 No\r\n\r\n");
  });
  await new Promise<void>((resolve) => strict.listen(0, "127.0.0.1", resolve));
  const bound = strict.address();
  const place = `127.0.0.1:${typeof bound === "object" ? bound?.port : ""}`;
  const variables = [`POSTERN_URL=${url}`, `POSTERN_TOKEN=${key}`, `POSTERN_CA=${server.caFile}`];
  const refused = await postern([...variables, `https_proxy=http://me:p%40ss@${place}`], ["whoami"]);
  strict.close();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    `postern: the proxy ${place} answers CONNECT ${new URL(url).host} with 407: it refused the user and password\n`,
  ]);
  expect(asked).toEqual([`Basic ${Buffer.from("me:p@ss").toString("base64")}`]);
  const other = await postern([...variables, "HTTPS_PROXY=socks5://127.0.0.1:1"], ["whoami"]);
  expect([other.code, other.stderr]).toEqual([1, "postern: the proxy of HTTPS_PROXY must be an http URL\n"]);
});
