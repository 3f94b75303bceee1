// A platform whose network reaches the outside through an HTTP proxy alone: which servers it asks the proxy for, and that the proxy is no way around the walls
// against addresses of its own network.

import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { newSigningKey } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpProxy, startHttpProxy } from "../e2e/testing/http-proxy.ts";
import { type AttackedServer, startAttacked } from "./testing/attacking.ts";

/** Names that only the proxy resolves. */
const DOMAIN = "outside.invalid";
const LOGIN = `jane:${randomBytes(12).toString("hex")}`;
const certificate = createTestCertificate("outside", {}, `DNS:*.${DOMAIN}`);

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
/** Everything outside: issuers, clusters, and receivers of webhooks. */
let outside: Server;
let keySet: string;
/** Paths that were asked for, behind the host. */
const reached: string[] = [];
const isReached = async (place: string): Promise<void> =>
  await expect.poll(() => reached.some((each) => each.startsWith(place))).toBe(true);

beforeAll(async () => {
  directory = await temporaryDirectory();
  await writeFile(join(directory.path, "secret"), `whsec_${randomBytes(32).toString("base64")}`, { mode: 0o600 });
  await writeFile(join(directory.path, "outside.crt"), certificate.cert);
  keySet = JSON.stringify({ keys: [(await newSigningKey()).jwk] });
  outside = createServer(certificate, ({ headers: { host = "" }, url = "" }, response) => {
    reached.push(`${host}${url}`);
    response.setHeader("content-type", "application/json");
    if (url === "/keys") return void response.end(keySet);
    if (!url.startsWith("/.well-known/")) return void response.end('{"gitVersion":"v1.36.2"}');
    const keysAt = host === `leading.${DOMAIN}` ? `elsewhere.${DOMAIN}` : host;
    const jwks_uri = host === `numbers.${DOMAIN}` ? "https://10.0.0.1/keys" : `https://${keysAt}/keys`;
    const endpoints = { authorization_endpoint: `https://${host}/authorize`, token_endpoint: `https://${host}/token` };
    const supported = { response_types_supported: ["code"], id_token_signing_alg_values_supported: ["RS256"] };
    response.end(JSON.stringify({ issuer: `https://${host}`, jwks_uri, ...endpoints, ...supported }));
  });
  await new Promise<void>((resolve) => outside.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  outside?.closeAllConnections();
  outside?.close();
  await directory?.[Symbol.asyncDispose]();
});

const placeOf = (host: string) => ({ url: `https://${host}.${DOMAIN}`, certificateAuthority: certificate.cert });

type World = AsyncDisposable & {
  readonly server: AttackedServer;
  readonly proxy: HttpProxy;
  /** Whether the proxy was asked for the host. */
  isAsked(host: string): boolean;
  /** Reason and message of the condition of a rule for an issuer. */
  rule(path: string, name: string, issuer: object): Promise<readonly [reason: string, message: string]>;
  /** The answer of the platform for a virtual cluster that a tenant registers at a URL. */
  external(name: string, url: string): Promise<readonly [status: number, reason: unknown]>;
  /** The answer to a write in a virtual cluster with a webhook at a URL. */
  webhook(url: string): Promise<string>;
};

async function startBehindProxy(flags: readonly string[]): Promise<World> {
  const proxy = await startHttpProxy();
  proxy.lead({ host: "127.0.0.1", port: (outside.address() as AddressInfo).port });
  const HTTPS_PROXY = proxy.url.replace("//", `//${LOGIN}@`);
  const notices = ["--notice-webhook-url", `https://notices.${DOMAIN}/notices`, "--access-key-notice-lead-times", "1h"];
  const files = ["--notice-webhook-secret-file", join(directory.path, "secret")];
  const trust = ["--notice-webhook-ca-file", join(directory.path, "outside.crt")];
  const env = { HTTPS_PROXY, NO_PROXY: `near.${DOMAIN},10.0.0.0/8` };
  const server = await startAttacked([...notices, ...files, ...trust, ...flags], { env });
  await server.must({ path: "users", body: { metadata: { name: "bot" }, spec: { kind: "Bot" } } });
  return {
    server,
    proxy,
    isAsked: (host) => proxy.targets().includes(`${host}.${DOMAIN}:443`),
    async rule(path, name, issuer) {
      const scope = path === "clustertrustrules" ? { scope: { projects: [{ project: "default" }] } } : {};
      const claims = [{ claim: "repository_id", values: ["74"] }];
      const spec = { issuer, audiences: ["https://postern.example"], claims, user: "bot", ...scope };
      await server.must({ path, body: { metadata: { name }, spec } });
      let found: any;
      await expect
        .poll(async () => {
          const { status } = await server.must({ path: `${path}/${name}` });
          found = status?.conditions?.find(({ type }: any) => type === "IssuerReachable");
          return found?.reason;
        })
        .toMatch(/^(FetchFailed|KeysFetched)$/);
      return [found.reason, found.message];
    },
    async external(name, url) {
      const secret = { metadata: { name: `vc-${name}` }, stringData: { config: kubeconfigOf(url) } };
      await server.must({ path: "/api/v1/namespaces/p-default/secrets", body: secret });
      const instance = { metadata: { name }, spec: { external: true } };
      await server.must({ path: "namespaces/p-default/virtualclusterinstances", body: instance });
      const { status, body } = await server.send({
        path: `/kubernetes/project/default/virtualcluster/${name}/version`,
      });
      return [status, body?.details?.causes?.[0]?.reason];
    },
    async webhook(url) {
      const inside = "/kubernetes/project/default/virtualcluster/demo";
      const hooks = `${inside}/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations`;
      const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }];
      const clientConfig = { url, caBundle: Buffer.from(certificate.cert).toString("base64") };
      const hook = { name: "a.example.com", sideEffects: "None", admissionReviewVersions: ["v1"], timeoutSeconds: 5 };
      await server.must({
        path: hooks,
        body: { metadata: { name: "a" }, webhooks: [{ ...hook, rules, clientConfig }] },
      });
      const written = await server.send({
        path: `${inside}/api/v1/namespaces/default/configmaps`,
        body: { metadata: { name: "x" } },
      });
      await server.must({ method: "DELETE", path: `${hooks}/a` });
      return written.body.message;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      proxy.close();
    },
  };
}

function kubeconfigOf(server: string): string {
  const cluster = { server, "certificate-authority-data": Buffer.from(certificate.cert).toString("base64") };
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "one" },
    clusters: [{ name: "one", cluster }],
    users: [{ name: "one", user: { token: "a-token-of-a-cluster" } }],
    contexts: [{ name: "one", context: { cluster: "one", user: "one" } }],
  });
}

describe("by default", () => {
  let world: World;
  beforeAll(async () => {
    world = await startBehindProxy([]);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  it("issuers that administrators trust are reached through the proxy", async () => {
    const [reason] = await world.rule("clustertrustrules", "issuer", placeOf("issuer"));
    expect([reason, world.isAsked("issuer")]).toEqual(["KeysFetched", true]);
  });

  it("identity providers are reached through the proxy", async () => {
    const mappings = { claimMappings: { username: { claim: "name" } }, createUsers: true };
    const spec = { issuer: placeOf("provider"), clientId: "postern", ...mappings };
    await world.server.must({ path: "identityproviders", body: { metadata: { name: "provider" }, spec } });
    await world.server.send({ path: "/login/start?provider=provider", as: "" });
    await isReached(`provider.${DOMAIN}/.well-known/`);
    expect(world.isAsked("provider")).toBe(true);
  });

  it("connected clusters are reached through the proxy", async () => {
    await world.server.must({ path: "/api/v1/namespaces", body: { metadata: { name: "clusters" } } });
    const secret = { metadata: { name: "far" }, stringData: { config: kubeconfigOf(`https://cluster.${DOMAIN}`) } };
    await world.server.must({ path: "/api/v1/namespaces/clusters/secrets", body: secret });
    const kubeConfigRef = { secretNamespace: "clusters", secretName: "far" };
    await world.server.must({ path: "clusters", body: { metadata: { name: "far" }, spec: { kubeConfigRef } } });
    await isReached(`cluster.${DOMAIN}/`);
    expect(world.isAsked("cluster")).toBe(true);
  });

  it("the receiver of notices is reached through the proxy", async () => {
    const body = { metadata: { name: "soon" }, spec: { type: "User", user: "admin", ttl: 3_602 } };
    await world.server.must({ path: "ownedaccesskeys", body });
    await isReached(`notices.${DOMAIN}/notices`);
    expect(world.isAsked("notices")).toBe(true);
  });

  it.each([
    ["in NO_PROXY", "near", placeOf("near")],
    ["that only a document names", "elsewhere", placeOf("leading")],
  ])("a host %s is reached directly", async (_, host, issuer) => {
    const [reason, message] = await world.rule("clustertrustrules", host, issuer);
    expect([reason, message, world.isAsked(host)]).toEqual([
      "FetchFailed",
      expect.stringContaining("its host name"),
      false,
    ]);
  });

  it("hosts of tenants are reached directly", async () => {
    const [reason] = await world.rule("namespaces/p-default/trustrules", "tenant", placeOf("tenant"));
    expect(reason).toBe("FetchFailed");
    expect(await world.external("direct", `https://direct.${DOMAIN}`)).toEqual([503, "NameNotResolved"]);
    expect(await world.webhook(`https://hook.${DOMAIN}/`)).toContain("its host name");
    expect(["tenant", "direct", "hook"].filter((host) => world.isAsked(host))).toEqual([]);
  });

  it("the login of the proxy is in no log", () => {
    expect(world.proxy.logins()).toEqual([LOGIN]);
    expect(world.server.process.output()).not.toContain(LOGIN.split(":")[1]);
  });
});

describe("with --outbound-proxy-for-tenants", () => {
  let world: World;
  beforeAll(async () => {
    world = await startBehindProxy(["--outbound-proxy-for-tenants"]);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  it("hosts of tenants, and those of documents, are reached through the proxy", async () => {
    const [reason] = await world.rule("namespaces/p-default/trustrules", "tenant", placeOf("tenant"));
    const [led] = await world.rule("clustertrustrules", "leading", placeOf("leading"));
    expect([reason, led]).toEqual(["KeysFetched", "KeysFetched"]);
    expect((await world.external("far", `https://far.${DOMAIN}`))[0]).toBe(200);
    await world.webhook(`https://hook.${DOMAIN}/`);
    expect(["tenant", "leading", "elsewhere", "far", "hook"].filter((host) => !world.isAsked(host))).toEqual([]);
    expect(reached).toContain(`hook.${DOMAIN}/?timeout=5s`);
  });

  it("addresses that are refused are not asked for, in any spelling", async () => {
    const before = world.proxy.targets().length;
    const hosts = [
      "10.0.0.1",
      "169.254.169.254",
      "192.168.1.1",
      "0x0a000001",
      "[::ffff:10.0.0.1]",
      "[fd00::1]",
      "127.1",
    ];
    for (const [at, host] of hosts.entries()) {
      expect(await world.external(`number-${at}`, `https://${host}`)).toEqual([502, "AddressRefused"]);
      expect(await world.webhook(`https://${host}/`)).toContain("its address is not allowed");
    }
    const [, message] = await world.rule("clustertrustrules", "numbers", placeOf("numbers"));
    expect(message).toContain("its address is not allowed");
    expect(world.proxy.targets().slice(before)).toEqual([`numbers.${DOMAIN}:443`]);
  });

  it("localhost is this machine, and not that of the proxy", async () => {
    expect(await world.external("here", "https://localhost")).toEqual([502, "AddressRefused"]);
    expect(world.proxy.targets()).not.toContain("localhost:443");
  });
});

it.each([
  ["socks5://proxy.example", "the proxy of HTTPS_PROXY must be an http URL"],
  ["http://jane:50%off@proxy.example", "has a % that begins no escape"],
])("a server does not start with the proxy %s", async (HTTPS_PROXY, why) => {
  await expect(startAttacked([], { env: { HTTPS_PROXY } })).rejects.toThrow(why);
});
