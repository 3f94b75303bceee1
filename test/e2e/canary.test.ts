// Every secret that a broad run brings forth is looked for wherever it must not be: answers, logs, audit, metrics, the store.

import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { sharedEtcd } from "@postern/stores/etcd/testing/shared-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, adminKey, type HttpClient, type HttpRequest, httpClient } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { defaultStoreName } from "./testing/stores.ts";

const GROUP = "management.postern/v1";
const KEYS = `/apis/${GROUP}/ownedaccesskeys`;
const DEMO = `/apis/${GROUP}/namespaces/p-default/virtualclusterinstances/demo`;
const INSIDE = "/kubernetes/project/default/virtualcluster/demo";
const PATCH = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  apply: "application/apply-patch+yaml",
};
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const OWN_VALUE = "a-value-that-the-client-chose-itself-0123456789";
const OIDC = {
  idToken: "Y2FuYXJ5LWlkLXRva2Vu",
  accessToken: "Y2FuYXJ5LWFjY2Vzcy10b2tlbg==",
  refreshToken: "Y2FuYXJ5LXJlZnJlc2gtdG9rZW4=",
};

let server: OwnServer;
let http: HttpClient;
let admin: string;
/** The secrets, by what they are. */
const secrets = new Map<string, string>();
/** Responses; `shows` holds the secrets that a response may show. */
const answers: { readonly request: string; readonly text: string; readonly shows: ReadonlySet<string> }[] = [];

beforeAll(async () => {
  server = await startOwnServer(["--log-level", "debug"]);
  http = await httpClient(server);
  admin = await adminKey(server);
  secrets.set("the administrator's key", admin);
});

afterAll(() => server?.[Symbol.asyncDispose]());

/** Sends a request and keeps the answer. `shown` finds the secrets that this one answer is there to show. */
async function send(
  path: string,
  options: HttpRequest = {},
  shown?: (answer: Answer) => Record<string, string>,
): Promise<Answer> {
  const answer = await http(path, { key: admin, ...options });
  const found = Object.entries(shown?.(answer) ?? {});
  for (const [what, secret] of found) {
    expect(secret, `${what}: ${answer.text}`).toMatch(/.{12}/);
    secrets.set(what, secret);
  }
  answers.push({
    request: `${options.method ?? (options.body === undefined ? "GET" : "POST")} ${path}`,
    text: JSON.stringify(answer.headers) + answer.text,
    shows: new Set(found.map(([, secret]) => secret)),
  });
  return answer;
}

const patch = (path: string, type: keyof typeof PATCH, body: object, query = "") =>
  send(`${path}?fieldManager=canary${query}`, { method: "PATCH", body, headers: { "content-type": PATCH[type] } });

const key = (metadata: object, spec: object): object => ({ apiVersion: GROUP, kind: "OwnedAccessKey", metadata, spec });

const newKey = (name: string, spec: object) =>
  send(KEYS, { body: key({ name }, spec) }, ({ body }) => ({ [`key ${name}`]: body.spec.key }));

/** The value as it is, as text in JSON or YAML may fold it, and as base64 carries it. */
const shapesOf = (secret: string): readonly string[] => [
  secret,
  Buffer.from(secret).toString("base64").replace(/=+$/, "").slice(0, -1),
  encodeURIComponent(secret),
];

function leaks(text: string, except: ReadonlySet<string> = new Set()): readonly string[] {
  return [...secrets].flatMap(([what, secret]) =>
    !except.has(secret) && shapesOf(secret).some((shape) => text.includes(shape)) ? [what] : [],
  );
}

describe("secrets (security book 38, 41)", () => {
  it("occur in a run of everything that handles them", async () => {
    await newKey("plain", {});
    await newKey("scoped", { scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] }, ttl: 3600 });
    await newKey("sealed", {
      oidcLogin: OIDC,
      identity: { connector: "canary", connectorData: "Y2FuYXJ5LWNvbm5lY3Rvci1kYXRh" },
      identityRefresh: undefined,
    });
    for (const [name, value] of Object.entries(OIDC)) secrets.set(name, value);
    secrets.set("connector data", "Y2FuYXJ5LWNvbm5lY3Rvci1kYXRh");

    secrets.set("a chosen value", OWN_VALUE);
    await send(KEYS, { body: key({ name: "chosen" }, { key: OWN_VALUE }) }, () => ({ "a chosen value": OWN_VALUE }));
    await send(`${KEYS}?dryRun=All`, { body: key({ name: "dry" }, {}) });
    await send(KEYS, { body: key({ name: "chosen" }, { key: OWN_VALUE }) });
    await send(KEYS, { body: key({ name: "bad name!" }, { key: OWN_VALUE }) });
    await send(`${KEYS}?fieldValidation=Strict`, {
      body: key({ name: "strict" }, { key: OWN_VALUE, [OWN_VALUE.slice(0, 4)]: 1 }),
    });
    await send(KEYS, { body: key({ name: "short" }, { key: "too-short-canary" }) });
    secrets.set("a value that was refused", "too-short-canary");

    const rotated = "another-value-by-replacement-0123456789";
    secrets.set("a rotated value", rotated);
    const { body: plain } = await send(`${KEYS}/plain`);
    await send(`${KEYS}/plain`, { method: "PUT", body: { ...plain, spec: { ...plain.spec, key: rotated } } });
    const merged = "another-value-by-merge-patch-0123456789";
    secrets.set("a merged value", merged);
    await patch(`${KEYS}/plain`, "merge", { spec: { key: merged } });
    const byJson = "another-value-by-json-patch-0123456789";
    secrets.set("a JSON-patched value", byJson);
    await patch(`${KEYS}/plain`, "json", [{ op: "add", path: "/spec/key", value: byJson }]);
    await patch(`${KEYS}/plain`, "json", [{ op: "test", path: "/spec/key", value: byJson }]);
    const applied = "another-value-by-apply-0123456789";
    secrets.set("an applied value", applied);
    const lastApplied = JSON.stringify(key({ name: "plain" }, { key: applied }));
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": lastApplied };
    await patch(`${KEYS}/plain`, "apply", key({ name: "plain", annotations }, { key: applied }), "&force=true");
    await patch(`${KEYS}/plain`, "apply", key({ name: "plain" }, { key: applied }), "&force=true&dryRun=All");
    const noted = "another-value-noted-elsewhere-0123456789";
    secrets.set("a value that stands elsewhere, too", noted);
    const elsewhere = { metadata: { annotations: { note: `my key is ${noted}` } }, spec: { key: noted } };
    expect((await patch(`${KEYS}/plain`, "merge", elsewhere)).status).toBe(422);

    const kubeConfig = await send(`${DEMO}/kubeconfig`, { body: { spec: {} } }, ({ body }) => ({
      "the token of a kubeconfig": /token: (\S+)/.exec(body.status.kubeConfig)?.[1] ?? "",
    }));
    expect(kubeConfig.status).toBe(201);
    await send(`${DEMO}/kubeconfig`, { body: { spec: { clientCert: true } } }, ({ body }) => {
      const pem = Buffer.from(/client-key-data: (\S+)/.exec(body.status.kubeConfig)?.[1] ?? "", "base64").toString();
      return { "the private key of a kubeconfig": pem.split("\n")[1] ?? "" };
    });
    await send(`${DEMO}/accesskey`, {}, ({ body }) => ({ "the control plane's key": body.accessKey }));
    await send(`/apis/${GROUP}/clusters/embedded/accesskey`, {}, ({ body }) => ({ "the agent's key": body.accessKey }));

    await send(`/apis/${GROUP}/selves`, {
      body: { apiVersion: GROUP, kind: "Self", spec: { accessKey: secrets.get("key scoped") } },
    });
    await send(
      "/apis/authentication.k8s.io/v1/tokenreviews",
      {
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token: secrets.get("the token of a kubeconfig") },
        },
      },
      // As in Kubernetes, the review that was sent comes back with its answer.
      () => ({ "the token of a kubeconfig": secrets.get("the token of a kubeconfig") ?? "" }),
    );
  });

  it("are asked for in every other way", async () => {
    const collections = [
      KEYS,
      "/apis/storage.postern/v1/accesskeys",
      `/apis/${GROUP}/users`,
      `/apis/${GROUP}/clusters`,
      `/apis/${GROUP}/namespaces/p-default/virtualclusterinstances`,
      "/api/v1/events",
      "/apis/events.k8s.io/v1/events",
    ];
    for (const path of collections) {
      for (const accept of [
        "application/json",
        "application/yaml",
        TABLE,
        `${TABLE.replace("Table", "PartialObjectMetadataList")}`,
      ]) {
        await send(`${path}?includeObject=Object`, { headers: { accept } });
      }
      await send(`${path}?watch=true&timeoutSeconds=1&resourceVersion=0&allowWatchBookmarks=true`);
    }
    for (const name of ["plain", "scoped", "sealed", "chosen", "admin"]) {
      await send(`${KEYS}/${name}`);
      await send(`${KEYS}/${name}/status`);
      await send(`/apis/storage.postern/v1/accesskeys/${name}`);
      await send(`${KEYS}?fieldSelector=metadata.name=${name}&limit=1`);
    }
    await send(`/apis/${GROUP}/users/admin/accesskeys`);
    for (const path of [
      "/metrics",
      "/openapi/v2",
      "/apis",
      "/readyz?verbose",
      "/version",
      `${INSIDE}/api/v1/secrets`,
      `${INSIDE}/api/v1/configmaps`,
      `${INSIDE}/apis/certificates.k8s.io/v1/certificatesigningrequests`,
    ]) {
      await send(path);
    }
    for (const [, secret] of secrets) {
      await send("/api", { key: secret });
      await send(`/nothing?token=x`, { key: `${secret}x` });
      await send("/api", { key: undefined, headers: { cookie: `access_key=${secret}` } });
    }
    await send(`${KEYS}/chosen`, { method: "DELETE" });
    await send(`${KEYS}?labelSelector=no=such`, { method: "DELETE" });
  });

  it("are in no response but the one that issues them", () => {
    const found = answers.flatMap(({ request, text, shows }) =>
      leaks(text, shows).map((what) => `${what} in ${request}`),
    );
    expect(answers.length).toBeGreaterThan(100);
    expect(found).toEqual([]);
  });

  it("are in no file of a running server: store, write-ahead log, audit", async () => {
    expect(await leaksInFiles()).toEqual([]);
  });

  it("are in no file after the server stopped, and in nothing that it printed", async () => {
    expect(await server.stop()).toBe(0);
    expect(await leaksInFiles()).toEqual([]);
    expect(server.output()).toContain('"level"');
    expect(leaks(server.output())).toEqual([]);
  });
});

/** Files that each store must have written, in the data directory or in etcd's. */
const FILE_OF_STORE = { memory: [], sqlite: ["postern.db"], etcd: ["db"] };

/** All of the data directory, and of etcd's where it is the store, but the file that is there to hold the administrator's key. */
async function leaksInFiles(): Promise<readonly string[]> {
  const storeName = defaultStoreName();
  const folders = [server.dataDir, ...(storeName === "etcd" ? [sharedEtcd()?.folder ?? ""] : [])];
  const names: string[] = [];
  const found: string[] = [];
  for (const folder of folders) {
    for (const name of await readdir(folder, { recursive: true })) {
      const path = join(folder, name);
      if (path === server.adminKubeconfig || !(await stat(path)).isFile()) continue;
      names.push(basename(name));
      for (const what of leaks(await readFile(path, "latin1"))) found.push(`${what} in ${name}`);
    }
  }
  expect(names).toEqual(expect.arrayContaining(["audit.log", ...FILE_OF_STORE[storeName]]));
  return found;
}
