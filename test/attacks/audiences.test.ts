// A key with spec.audiences is of no use to any other receiver, also one that has it and asks about it in another's name.

import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adminKey, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import {
  kubectlWith,
  type PosternProcess,
  startPostern,
  succeed,
  temporaryDirectory,
} from "../e2e/testing/postern-process.ts";

const API = "/apis/management.postern/v1";
const KEYS = `${API}/ownedaccesskeys`;
const REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const INSTANCES = `${API}/namespaces/p-default/virtualclusterinstances`;
const PLATFORM = "postern:platform";
const DEMO = "postern:vcluster:p-default:demo";
const OTHER = "postern:vcluster:p-default:other";
const KUBE_APISERVER = "https://kubernetes.default.svc.cluster.local";
const pathOf = (name: string): string => `/kubernetes/project/default/virtualcluster/${name}/api/v1/namespaces`;

describe("an access key with audiences", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: PosternProcess;
  let ask: HttpClient;
  let admin: string;
  /** The keys of two control planes. */
  const planes: { [cluster: string]: string } = {};

  const create = (name: string, spec: object, key = admin) => ask(KEYS, { key, body: { metadata: { name }, spec } });
  const keyFor = async (name: string, audiences: readonly string[], more: object = {}): Promise<string> => {
    const { status, body, text } = await create(name, { user: "admin", audiences, ...more });
    expect(status, text).toBe(201);
    return body.spec.key;
  };
  const review = async (token: string, asker: string, audiences?: readonly string[]) => {
    const { body } = await ask(REVIEWS, {
      key: asker,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token, audiences } },
    });
    const { authenticated = false, audiences: common } = body.status;
    return common === undefined ? authenticated : common;
  };
  /** Where a key is accepted as a bearer. */
  const receiversOf = async (key: string): Promise<readonly string[]> => {
    const paths = { platform: `${API}/projects`, demo: pathOf("demo"), other: pathOf("other") };
    const accepted: string[] = [];
    for (const [name, path] of Object.entries(paths))
      if ((await ask(path, { key })).status === 200) accepted.push(name);
    return accepted;
  };
  const kubeconfigOf = async (name: string, key: string, spec: object = {}) =>
    ask(`${INSTANCES}/${name}/kubeconfig`, { key, body: { spec } });
  const userIn = (body: any) => (decodeYaml(body.status.kubeConfig).value as any).users[0].user;

  const start = async (flags: readonly string[] = []): Promise<void> => {
    server = await startPostern(join(directory.path, "data"), [
      ...["--audit-log-path", join(directory.path, "audit.log"), "--audit-log-mode", "blocking"],
      ...["--failed-logins-per-minute", "0", ...flags],
    ]);
    admin = await adminKey(server);
    ask = await httpClient(server);
  };

  beforeAll(async () => {
    directory = await temporaryDirectory();
    await start();
    await ask(INSTANCES, { key: admin, body: { metadata: { name: "other" }, spec: {} } });
    for (const name of ["demo", "other"]) {
      await vi.waitUntil(
        async () => (await ask(`${INSTANCES}/${name}`, { key: admin })).body.status?.phase === "Ready",
        30_000,
      );
      const made = await create(`webhook-${name}`, {
        subject: `postern:vcluster:p-default:${name}`,
        ttl: 0,
        scope: { roles: [{ role: "vcluster", projects: ["default"], virtualClusters: [name] }] },
      });
      planes[name] = made.body.spec.key;
    }
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  it.each<readonly [string, readonly string[], readonly string[]]>([
    ["for-platform", [PLATFORM], ["platform"]],
    ["for-demo", [DEMO], ["demo"]],
    ["for-both", [DEMO, PLATFORM], ["platform", "demo"]],
    ["for-vault", ["vault"], []],
    ["for-none", [], ["platform", "demo", "other"]],
    ["for-a-part", ["postern:vcluster:p-default:dem", "postern:vcluster:p-default"], []],
  ])("is accepted by its receivers alone: %s", async (name, audiences, expected) => {
    expect(await receiversOf(await keyFor(name, audiences))).toEqual(expected);
  });

  it("is refused by others in the words of any other refusal, on a connection that it was accepted on as well", async () => {
    const key = await keyFor("words", [DEMO]);
    const unknown = await ask(`${API}/projects`, { key: "no such key" });
    const refused = await ask(`${API}/projects`, { key, headers: { "audit-id": "other-audience" } });
    expect([refused.status, refused.body]).toEqual([401, unknown.body]);
    const event = (await readFile(join(directory.path, "audit.log"), "utf8"))
      .split("\n")
      .find((line) => line.includes('"other-audience"'));
    expect(JSON.parse(event ?? "").annotations).toMatchObject({
      "authentication.kubernetes.io/refusal": `spec.audiences does not include ${PLATFORM}`,
      "access-key/name": "words",
    });
    expect((await ask("/metrics", { key: admin })).text).toMatch(
      /postern_access_key_refusals_total\{reason="AudienceNotAllowed"\} [1-9]/,
    );
    const config = join(directory.path, "kubeconfig.yaml");
    const cluster = {
      server: `${server.url}/kubernetes/project/default/virtualcluster/demo`,
      "certificate-authority": server.caFile,
    };
    await writeFile(
      config,
      JSON.stringify({
        ...{ apiVersion: "v1", kind: "Config", "current-context": "demo" },
        clusters: [
          { name: "demo", cluster },
          { name: "platform", cluster: { ...cluster, server: server.url } },
        ],
        users: [{ name: "key", user: { token: key } }],
        contexts: ["demo", "platform"].map((name) => ({ name, context: { cluster: name, user: "key" } })),
      }),
      { mode: 0o600 },
    );
    const kubectl = kubectlWith(config, join(directory.path, "cache"));
    expect(await succeed(kubectl(["get", "namespaces"]))).toContain("kube-system");
    expect((await kubectl(["--context", "platform", "get", "--raw", `${API}/projects`])).stderr).toContain("log");
  });

  it("is reviewed for its receivers: a cluster by its own key, others by the name that they ask for", async () => {
    const [demo = "", other = ""] = [planes["demo"], planes["other"]];
    const key = await keyFor("reviewed", [DEMO, "vault"]);
    expect(await review(key, demo)).toBe(true);
    expect(await review(key, demo, [KUBE_APISERVER])).toBe(true);
    expect(await review(key, demo, ["vault", KUBE_APISERVER])).toEqual(["vault"]);
    expect(await review(key, admin, ["vault"])).toEqual(["vault"]);
    expect(await review(key, admin, ["vault", "nomad"])).toEqual(["vault"]);
    // Another receiver, and the platform itself.
    for (const audiences of [undefined, [KUBE_APISERVER], [OTHER], ["vault "], ["Vault"]]) {
      expect(await review(key, other, audiences)).toBe(false);
      expect(await review(key, admin, audiences)).toBe(false);
    }
    // A cluster that names another one, as one would that has stolen a key for it.
    for (const audiences of [[DEMO], [DEMO, KUBE_APISERVER], [PLATFORM]]) {
      expect(await review(key, other, audiences)).toBe(false);
      expect(await review(key, admin, audiences)).toBe(false);
    }
    const self = (asker: string) =>
      ask(`${API}/selves`, {
        key: asker,
        body: { apiVersion: "management.postern/v1", kind: "Self", spec: { accessKey: key } },
      });
    expect([(await self(demo)).status, (await self(other)).status, (await self(admin)).status]).toEqual([
      201, 401, 401,
    ]);
  });

  it("without audiences is reviewed as before, and one for the platform by callers that are no clusters", async () => {
    const open = await keyFor("open", []);
    const platform = await keyFor("platform-only", [PLATFORM]);
    for (const asker of [admin, planes["demo"] ?? ""]) expect(await review(open, asker)).toBe(true);
    expect([await review(platform, admin), await review(platform, planes["demo"] ?? "")]).toEqual([true, false]);
  });

  it("makes keys for its own receivers, and none for others", async () => {
    const key = await keyFor("maker", [PLATFORM, DEMO]);
    const child = await create("child", {}, key);
    expect(child.body.spec.audiences).toEqual([PLATFORM, DEMO]);
    expect((await create("fewer", { audiences: [DEMO] }, key)).status).toBe(201);
    for (const audiences of [[OTHER], [PLATFORM, "vault"], ["vault"]]) {
      const { status, body } = await create("wider", { audiences }, key);
      expect([status, body.message]).toEqual([403, expect.stringContaining("spec.audiences")]);
    }
    for (const [name, spec] of [
      ["maker", { audiences: null }],
      ["maker", { audiences: ["vault"] }],
      ["open", { displayName: "x" }],
      ["open", { audiences: [PLATFORM] }],
    ] as const) {
      const patched = await ask(`${KEYS}/${name}`, {
        key,
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: { spec },
      });
      expect([name, patched.status]).toEqual([name, 403]);
    }
    const rule = {
      metadata: { name: "ci" },
      spec: {
        issuer: { url: "https://issuer.example", jwks: '{"keys":[]}' },
        audiences: ["us"],
        claims: [{ claim: "sub", values: ["x"] }],
        user: "admin",
      },
    };
    expect((await ask(`${API}/clustertrustrules`, { key, body: rule })).status).toBe(403);
  });

  it("opens no session of the platform for another receiver, and leaves no key of one behind", async () => {
    const open = async (key: string) =>
      (await ask("/login/session", { body: { key }, headers: { "sec-fetch-site": "same-origin" } })).status;
    const [vault, platform] = [await keyFor("no-session", ["vault"]), await keyFor("session", [PLATFORM])];
    const count = async () => (await ask(KEYS, { key: admin })).body.items.length;
    const before = await count();
    expect([await open(vault), await count()]).toEqual([401, before]);
    expect([await open(platform), await count()]).toEqual([200, before + 1]);
  });

  it("makes kubeconfigs for its own clusters, which are bound to them", async () => {
    const key = await keyFor("configs", [PLATFORM, DEMO]);
    for (const spec of [{}, { clientCert: true }]) {
      expect((await kubeconfigOf("demo", key, spec)).status).toBe(201);
      const { status, body } = await kubeconfigOf("other", key, spec);
      expect([status, body.message]).toEqual([403, expect.stringMatching(/spec\.audiences|your access key does not/)]);
    }
    // Of any key.
    const { token } = userIn((await kubeconfigOf("demo", admin)).body);
    expect(await receiversOf(token)).toEqual(["platform", "demo"]);
    const found = (await ask(KEYS, { key: admin })).body.items.filter(
      (item: any) => item.spec.displayName === "Kubeconfig for default/demo",
    );
    for (const { spec } of found) expect(spec.audiences).toEqual([DEMO, PLATFORM]);
    expect(await review(token, planes["demo"] ?? "", [KUBE_APISERVER])).toBe(true);
    for (const audiences of [undefined, [KUBE_APISERVER], [DEMO], [OTHER]])
      expect(await review(token, planes["other"] ?? "", audiences)).toBe(false);
  });

  it("ends its certificates and watches for a cluster that is not a receiver any more", async () => {
    const key = await keyFor("moving", [PLATFORM, DEMO]);
    const { body } = await kubeconfigOf("demo", key, { clientCert: true });
    const user = userIn(body);
    const ca = await readFile(server.caFile);
    const text = (member: string): string => Buffer.from(user[member], "base64").toString();
    const inside = () =>
      new Promise<number>((resolve, reject) => {
        request(
          `${server.url}${pathOf("demo")}`,
          { ca, agent: false, cert: text("client-certificate-data"), key: text("client-key-data") },
          (response) => {
            response.resume();
            resolve(response.statusCode ?? 0);
          },
        )
          .on("error", reject)
          .end();
      });
    expect(await inside()).toBe(200);
    const watch = ask(`${pathOf("demo")}?watch=true`, { key });
    await ask(`${KEYS}/moving`, {
      key: admin,
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { spec: { audiences: [PLATFORM] } },
    });
    expect((await watch).status).toBe(200);
    expect(await inside()).toBe(401);
    expect(await receiversOf(key)).toEqual(["platform"]);
  });

  it.each<readonly [audiences: readonly unknown[], field: string]>([
    [[""], "spec.audiences[0]"],
    [["*"], "spec.audiences[0]"],
    [["vault", "vault"], "spec.audiences[1]"],
    [[`x${"y".repeat(512)}`], "spec.audiences[0]"],
    [Array.from({ length: 17 }, (_, at) => `a${at}`), "spec.audiences"],
  ])("has 16 names at most, each with a meaning: %#", async (audiences, field) => {
    const { status, body } = await create("invalid", { audiences });
    expect([status, body.details?.causes?.[0]?.field]).toEqual([422, field]);
  });

  it("is demanded of all reviewed keys where the server requires it", async () => {
    const open = await keyFor("open-later", []);
    const bound = await keyFor("bound-later", [DEMO]);
    await server[Symbol.asyncDispose]();
    await start(["--access-key-require-audience"]);
    const demo = planes["demo"] ?? "";
    expect([await review(open, demo), await review(open, admin), await review(bound, demo)]).toEqual([
      false,
      false,
      true,
    ]);
    expect((await ask(`${API}/projects`, { key: open })).status).toBe(200);
  });
});
