// Wrapped values: the credential is read once, by one reader, and whatever else is tried with the value is refused or announced.

import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serverCertificate } from "@postern/apiserver/transport/testing/serve-handler";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adminKey, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import {
  ENTRY,
  kubectlWith,
  NODE,
  type PosternProcess,
  shareIdentity,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";

const API = "/apis/management.postern/v1";
const KEYS = `${API}/ownedaccesskeys`;
const INSTANCE = `${API}/namespaces/p-default/virtualclusterinstances/demo`;
const MERGE = { "content-type": "application/merge-patch+json" };

describe("a wrapped value", () => {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const notices: any[] = [];
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let receiver: Server;
  let server: PosternProcess;
  let admin: string;
  let ask: HttpClient;

  const path = (name: string): string => join(directory.path, name);
  const kubectl = (args: readonly string[], input?: string) =>
    kubectlWith(server.adminKubeconfig, path("cache"))(args, input);
  /** As a client without any credential. */
  const curl = async (value: string, ...more: readonly string[]) => {
    const { stdout } = await tool("curl", [
      ...["--silent", "--cacert", server.caFile, "--write-out", "\n%{http_code}", ...more],
      ...["--header", "content-type: application/json", "--data", JSON.stringify({ value }), `${server.url}/unwrap`],
    ]);
    const at = stdout.lastIndexOf("\n");
    return { status: Number(stdout.slice(at + 1)), body: JSON.parse(stdout.slice(0, at)) };
  };
  const manifest = (name: string, spec: object = {}): string =>
    JSON.stringify({ apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name }, spec });
  const wrapKey = async (name: string, spec: object = {}, key = admin): Promise<string> => {
    const { status, body, text } = await ask(`${KEYS}?wrap=5m`, { key, body: manifest(name, spec) });
    expect(status, text).toBe(201);
    return body.status.wrapped.value;
  };
  const reasonOf = ({ body }: { readonly body: any }): string => body.details?.causes?.[0]?.reason;
  const works = async (key: string): Promise<boolean> => (await ask(`${API}/projects`, { key })).status === 200;
  const eventsAbout = async (name: string): Promise<readonly any[]> => {
    const { body } = await ask(`/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${name}`, {
      key: admin,
    });
    return body.items.filter(({ reason }: any) => reason.startsWith("WrappedValue"));
  };
  const auditLines = async (): Promise<readonly any[]> =>
    (await readFile(path("audit.log"), "utf8"))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  const names = async (): Promise<readonly string[]> =>
    (await ask(KEYS, { key: admin })).body.items.map((item: any) => item.metadata.name);

  beforeAll(async () => {
    directory = await temporaryDirectory();
    receiver = createServer({ ...serverCertificate }, (request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        // Throws for a signature that is not right.
        notices.push(new Webhook(secret).verify(body, request.headers as Record<string, string>));
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    await writeFile(path("secret"), secret, { mode: 0o600 });
    await writeFile(path("receiver.crt"), serverCertificate.cert);
    server = await startPostern(path("data"), [
      ...["--audit-log-path", path("audit.log"), "--audit-log-mode", "blocking", "--failed-logins-per-minute", "0"],
      ...["--notice-webhook-url", `https://localhost:${(receiver.address() as AddressInfo).port}/notices`],
      ...["--notice-webhook-secret-file", path("secret"), "--notice-webhook-ca-file", path("receiver.crt")],
      ...["--notice-webhook-allowed-addresses", "127.0.0.1,::1"],
    ]);
    admin = await adminKey(server);
    ask = await httpClient(server);
    await vi.waitUntil(async () => (await ask(INSTANCE, { key: admin })).body.status?.phase === "Ready", 30_000);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    receiver?.closeAllConnections();
    receiver?.close();
    await directory?.[Symbol.asyncDispose]();
  });

  it("is made by kubectl, read by curl once, and a second reading is announced and locks nothing", async () => {
    const made = JSON.parse(
      await succeed(kubectl(["create", "--raw", `${KEYS}?wrap=5m`, "-f", "-"], manifest("once", { user: "admin" }))),
    );
    expect(made.spec).toEqual({ user: "admin" });
    const { value, id, expirationTimestamp } = made.status.wrapped;
    expect(value).toMatch(/^pst_/);
    expect(Date.parse(expirationTimestamp) - Date.now()).toBeGreaterThan(4 * 60_000);
    expect(await works(value)).toBe(false);

    const first = await curl(value, "--user-agent", "the-job/1");
    expect(first).toMatchObject({ status: 200, body: { kind: "UnwrappedValue", name: "once", createdBy: "admin" } });
    const { accessKey } = first.body;
    expect(await works(accessKey)).toBe(true);
    const second = await curl(value, "--user-agent", "a-thief/1");
    expect([second.status, reasonOf(second)]).toEqual([403, "WrappedValueReadBefore"]);
    expect(second.body.message).toMatch(/^the value was read at \d{4}-/);
    await curl(value);
    expect(await works(accessKey)).toBe(true);
    expect((await ask(`${KEYS}/once`, { key: admin })).body.status.wrapped).toBeUndefined();

    await expect
      .poll(async () =>
        (await eventsAbout("once")).map(({ reason, type, count }) => `${type} ${reason} ${count}`).sort(),
      )
      .toEqual(["Normal WrappedValueRead 1", "Warning WrappedValueReadAgain 1"]);
    const again = (await eventsAbout("once")).find(({ type }) => type === "Warning");
    expect(again.message).toContain(`${id} was presented by 127.0.0.1 (a-thief/1) at `);
    expect(again.message).toContain("it had been read by 127.0.0.1 (the-job/1) at ");
    await expect.poll(() => notices.filter(({ data }) => data.wrappedValue.id === id).length).toBe(1);
    expect(notices.find(({ data }) => data.wrappedValue.id === id)).toMatchObject({
      type: "wrappedvalue.read-again",
      data: {
        wrappedValue: {
          about: { kind: "OwnedAccessKey", name: "once" },
          presentedBy: { address: "127.0.0.1", userAgent: "a-thief/1" },
          readBy: { address: "127.0.0.1", userAgent: "the-job/1" },
        },
      },
    });
    const { body: metrics } = { body: (await ask("/metrics", { key: admin })).text };
    for (const [result, count] of [
      ["created", 1],
      ["read", 1],
      ["read-before", 2],
    ])
      expect(metrics).toContain(`postern_wrapped_values_total{result="${result}"} ${count}`);
  });

  it("is read by one of many readers at the same moment (security book 18)", async () => {
    const value = await wrapKey("contended");
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => ask("/unwrap", { body: { value } }).then((answer) => answer.status)),
    );
    expect(answers.sort()).toEqual([200, ...Array(23).fill(403)]);
  });

  it("stands neither in the store nor in the audit log, and neither does what is in it", async () => {
    const value = await wrapKey("hidden");
    const kept = await wrapKey("kept");
    const { body } = await curl(value);
    const lines = await auditLines();
    const made = lines.find(({ objectRef }) => objectRef?.name === "hidden");
    const read = lines.find(
      ({ requestURI, annotations }) => requestURI === "/unwrap" && annotations["access-key/name"] === "hidden",
    );
    const id = made.annotations["postern/wrapped-value-id"];
    expect(read.annotations).toMatchObject({
      "postern/wrapped-value-id": id,
      "authentication.kubernetes.io/issued-credential-id": expect.any(String),
    });
    const texts = [await readFile(path("audit.log"), "latin1")];
    for (const name of await readdir(path("data"), { recursive: true }))
      texts.push(await readFile(path(`data/${name}`), "latin1").catch(() => ""));
    const all = texts.join("\n");
    expect(all).toContain(id);
    for (const text of [value, kept, body.accessKey]) {
      const random = text.split("_")[2] ?? "";
      for (const form of [random, Buffer.from(text).toString("base64").slice(0, -4), Buffer.from(text).toString("hex")])
        expect(all).not.toContain(form);
    }
  });

  it.each([
    ["with a token", {}],
    ["with a client certificate", { clientCert: true }],
  ])("reads a kubeconfig %s that kubectl uses", async (_what, spec) => {
    const wrapped = JSON.parse(
      await succeed(
        kubectl(
          ["create", "--raw", `${INSTANCE}/kubeconfig?wrap=5m`, "-f", "-"],
          JSON.stringify({ kind: "VirtualClusterInstanceKubeConfig", apiVersion: "management.postern/v1", spec }),
        ),
      ),
    );
    expect(wrapped.status.kubeConfig).toBeUndefined();
    const { status, body } = await curl(wrapped.status.wrapped.value);
    expect([status, body.name]).toEqual([200, "default/demo"]);
    await writeFile(path("read.yaml"), body.kubeConfig, { mode: 0o600 });
    const inside = kubectlWith(path("read.yaml"), path("inside"));
    expect(await succeed(inside(["get", "namespaces"]))).toContain("kube-system");
    expect(reasonOf(await curl(wrapped.status.wrapped.value))).toBe("WrappedValueReadBefore");
  });

  it("reads nothing while its key is refused, and never after the key has another value", async () => {
    const value = await wrapKey("changed");
    const disable = (disabled: boolean) =>
      ask(`${KEYS}/changed`, { key: admin, method: "PATCH", headers: MERGE, body: { spec: { disabled } } });
    await disable(true);
    expect(reasonOf(await curl(value))).toBe("WrappedValueRevoked");
    await disable(false);
    const rotation = { spec: { nonce: "a-nonce", gracePeriodSeconds: 60 } };
    const rotated = await ask(`${KEYS}/changed/rotate?wrap=1m`, { key: admin, body: rotation });
    expect(rotated.body.status.key).toBeUndefined();
    expect(reasonOf(await curl(value))).toBe("WrappedValueRevoked");
    const { body } = await curl(rotated.body.status.wrapped.value);
    expect(await works(body.accessKey)).toBe(true);
    // A value of a key that is deleted, and made again under its name.
    const old = await wrapKey("anew");
    await ask(`${KEYS}/anew`, { key: admin, method: "DELETE" });
    expect(reasonOf(await curl(old))).toBe("WrappedValueRevoked");
    await wrapKey("anew");
    expect(reasonOf(await curl(old))).toBe("WrappedValueRevoked");
  });

  it("dies with the limited key that made it, also inside of a kubeconfig with a certificate", async () => {
    const scope = {
      projects: [{ project: "default" }],
      virtualClusters: [{ project: "default", virtualCluster: "demo" }],
    };
    const made = await ask(KEYS, { key: admin, body: manifest("maker", { user: "admin", scope }) });
    const maker = made.body.spec.key;
    const values: string[] = [];
    for (const spec of [{}, { clientCert: true }]) {
      const { body, text } = await ask(`${INSTANCE}/kubeconfig?wrap=5m`, { key: maker, body: { spec } });
      expect(body.status?.wrapped, text).toBeDefined();
      values.push(body.status.wrapped.value);
    }
    await ask(`${KEYS}/maker`, { key: admin, method: "DELETE" });
    for (const value of values) expect(reasonOf(await curl(value))).toBe("WrappedValueRevoked");
  });

  it("is read from the addresses of its key alone; another reader learns nothing, and is announced", async () => {
    const value = await wrapKey("placed", { user: "admin", allowedSourceRanges: ["127.0.0.2"] });
    const unknown = await curl("pst_abcdefghij_unknown");
    for (let times = 0; times < 3; times++) {
      const outside = await curl(value);
      expect(outside).toEqual(unknown);
      expect(reasonOf(outside)).toBe("WrappedValueUnknown");
    }
    expect(await curl(value, "--header", "X-Forwarded-For: 127.0.0.2")).toEqual(unknown);
    await expect
      .poll(async () => (await eventsAbout("placed")).map(({ reason }) => reason))
      .toEqual(["WrappedValueFromOutside"]);
    const refusals = (await auditLines()).filter(
      ({ requestURI, annotations }) => requestURI === "/unwrap" && annotations["access-key/name"] === "placed",
    );
    expect(refusals[0].annotations["authentication.kubernetes.io/refusal"]).toBe(
      "spec.allowedSourceRanges does not include 127.0.0.1",
    );
    expect((await curl(value, "--interface", "127.0.0.2")).status).toBe(200);
  });

  it.each(["9s", "25h", "5", "5m5m", "", "5m&wrap=6m", "-5m", "1e3s", "5d"])(
    "is not made for ?wrap=%s, and no key either",
    async (wrap) => {
      const { status, body } = await ask(`${KEYS}?wrap=${wrap}`, { key: admin, body: manifest("never") });
      expect([status, body.message]).toEqual([400, expect.stringContaining("wrap")]);
      expect(await names()).not.toContain("never");
    },
  );

  it.each<readonly [method: string, path: string, body: object]>([
    ["POST", "/apis/storage.postern/v1/accesskeys", { metadata: { name: "never" }, spec: { key: "k".repeat(40) } }],
    ["PATCH", `${KEYS}/never`, { spec: {} }],
    ["PUT", `${KEYS}/never`, { metadata: { name: "never" }, spec: {} }],
    ["POST", `${API}/clusters/embedded/join`, {}],
    ["POST", `${API}/users`, { metadata: { name: "never" } }],
    ["GET", KEYS, {}],
    ["GET", `${API}/clusters/embedded/accesskey`, {}],
  ])("is not silently left out where a response cannot be wrapped: %s %s", async (method, path, body) => {
    const answer = await ask(`${path}?wrap=5m`, {
      key: admin,
      method,
      ...(method === "GET" ? {} : { body, headers: method === "PATCH" ? MERGE : {} }),
    });
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining("can be wrapped")]);
    expect(await names()).not.toContain("never");
  });

  it("leaves nothing behind in a dry run, and where the value would go to a Secret as well", async () => {
    const dry = await ask(`${KEYS}?wrap=5m&dryRun=All`, { key: admin, body: manifest("never") });
    expect([dry.status, dry.body.spec.key, dry.body.status?.wrapped]).toEqual([201, undefined, undefined]);
    const spec = { secretRef: { namespace: "p-default", name: "s" } };
    const both = await ask(`${KEYS}?wrap=5m`, { key: admin, body: manifest("never", spec) });
    expect([both.status, both.body.message]).toEqual([400, expect.stringContaining("spec.secretRef")]);
    expect(await names()).not.toContain("never");
    const config = await ask(`${INSTANCE}/kubeconfig?wrap=5m&dryRun=All`, { key: admin, body: { spec: {} } });
    expect(config.body.status.wrapped).toBeUndefined();
    expect(config.body.status.kubeConfig).not.toContain("token");
  });

  it("holds back a client that tries many values", async () => {
    // On one connection of curl's, so that the limit of handshakes is not in the way.
    const { stdout } = await tool("curl", [
      ...["--silent", "--cacert", server.caFile, "--write-out", "%{http_code}\n", "--output", "/dev/null"],
      ...["--request", "POST", "--data", "{}", `${server.url}/unwrap?[1-400]`],
    ]);
    expect(stdout).toContain("429");
    expect(await works(admin)).toBe(true);
    await expect.poll(async () => (await ask("/unwrap", { body: { value: "x" } })).status).toBe(403);
  });

  it("is printed by postern, and exchanged by postern unwrap without a sign-in", async () => {
    const run = (args: readonly string[], input?: string, ...environment: readonly string[]) =>
      environment.length === 0
        ? tool(NODE, [ENTRY, ...args], input)
        : tool("env", [...environment, NODE, ENTRY, ...args], input);
    const made = await run(["key", "create", "cli", "--wrap", "5m", "--kubeconfig", server.adminKubeconfig]);
    expect(made, made.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining("postern unwrap") });
    const there = [`POSTERN_URL=${server.url}`, `POSTERN_CA=${server.caFile}`, `HOME=${path("home")}`];
    const read = await run(["unwrap", "--out", path("access-key")], made.stdout, ...there);
    expect(read, read.stderr).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("created by admin"),
    });
    expect(await works((await readFile(path("access-key"), "utf8")).trim())).toBe(true);
    const again = await run(["unwrap"], undefined, ...there, `POSTERN_WRAPPED_VALUE=${made.stdout.trim()}`);
    expect(again).toMatchObject({ code: expect.not.closeTo(0), stderr: expect.stringContaining("was read at") });
    const config = await run(["kubeconfig", "demo", "--wrap", "1m", "--kubeconfig", server.adminKubeconfig]);
    const opened = await run(["unwrap", "--value-file", "-"], config.stdout, ...there);
    expect(opened.stdout).toContain("kind: Config");
    const rotated = await run(["key", "rotate", "cli", "--wrap", "1m", "--kubeconfig", server.adminKubeconfig]);
    const value = await run(["unwrap", "-o", "json"], rotated.stdout, ...there);
    expect(await works(JSON.parse(value.stdout).accessKey)).toBe(true);
  });
});

describe.skipIf(whyNoEtcd() !== undefined)("a wrapped value on two servers of one etcd", () => {
  const READERS = 12;
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let etcd: EtcdCluster;
  let servers: readonly PosternProcess[] = [];
  let clients: readonly HttpClient[] = [];
  let admin: string;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    etcd = await startEtcd();
    const flags = ["--store", `etcd://${etcd.endpoints.join(",")}`];
    const first = await startPostern(join(directory.path, "one"), flags);
    servers = [first];
    await shareIdentity(join(directory.path, "one"), join(directory.path, "other"));
    servers = [first, await startPostern(join(directory.path, "other"), flags)];
    clients = await Promise.all(servers.map(httpClient));
    admin = await adminKey(first);
  });
  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  it("is read once, at once on the other server as well (security book 18)", async () => {
    for (const maker of [0, 1, 0, 1]) {
      const made = await clients[maker]?.(`${KEYS}?wrap=1m`, { key: admin, body: { metadata: {}, spec: {} } });
      const { value } = made?.body.status.wrapped ?? {};
      const answers = await Promise.all(
        Array.from({ length: READERS }, (_, at) => clients[(maker + at + 1) % 2]?.("/unwrap", { body: { value } })),
      );
      const read = answers.filter((answer) => answer?.status === 200);
      expect([read.length, answers.filter((answer) => answer?.status === 403).length]).toEqual([1, READERS - 1]);
      const key = read[0]?.body.accessKey;
      for (const client of clients) expect((await client(`${API}/projects`, { key })).status).toBe(200);
    }
  });
});
