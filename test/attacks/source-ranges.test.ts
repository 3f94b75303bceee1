// A key with spec.allowedSourceRanges, and everything that is made with it, is of no use anywhere else.

import { readFile } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adminKey } from "../e2e/testing/http-client.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { SESSION } from "./testing/signing-in.ts";

const API = "/apis/management.postern/v1";
const KEYS = `${API}/ownedaccesskeys`;
const INSTANCE = `${API}/namespaces/p-default/virtualclusterinstances/demo`;
const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const MERGE = { "content-type": "application/merge-patch+json" };
const INSIDE = "127.0.0.2";
const OUTSIDE = "127.0.0.1";

type Ask = {
  readonly from?: string;
  readonly key?: string | undefined;
  readonly method?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cert?: string;
  readonly certKey?: string;
};

describe("an access key that is bound to source addresses", () => {
  let server: OwnServer;
  let ca: Buffer;
  let admin: string;
  let bound: string;

  const ask = (path: string, { from = INSIDE, key, method, body, headers = {}, cert, certKey }: Ask = {}) =>
    new Promise<{ status: number; body: any; headers: IncomingHttpHeaders }>((resolve, reject) => {
      const sent = request(
        `${server.url}${path}`,
        {
          ca,
          agent: false,
          localAddress: from,
          method: method ?? (body === undefined ? "GET" : "POST"),
          headers: {
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            "content-type": "application/json",
            ...headers,
          },
          ...(cert === undefined ? {} : { cert, key: certKey }),
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
          response.on("end", () => {
            const isJson = /json/.test(response.headers["content-type"] ?? "");
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: isJson ? JSON.parse(text) : text,
            });
          });
        },
      );
      sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  const create = async (name: string, spec: object, key = admin) =>
    await ask(KEYS, { key, body: { metadata: { name }, spec } });
  /** How a credential is answered inside and outside of its ranges. */
  const both = async (path: string, how: Ask): Promise<readonly number[]> => {
    const answers: number[] = [];
    for (const from of [INSIDE, OUTSIDE]) answers.push((await ask(path, { ...how, from })).status);
    return answers;
  };

  beforeAll(async () => {
    server = await startOwnServer((directory) => [
      ...[
        "--audit-log-path",
        join(directory, "audit.log"),
        "--audit-log-mode",
        "blocking",
        "--failed-logins-per-minute",
        "0",
      ],
    ]);
    ca = await readFile(server.caFile);
    admin = await adminKey(server);
    await vi.waitUntil(async () => (await ask(INSTANCE, { key: admin })).body.status?.phase === "Ready", 30_000);
    bound = (await create("bound", { user: "admin", allowedSourceRanges: [INSIDE, "2001:db8::/32"] })).body.spec.key;
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("is refused elsewhere, in the words of any other refusal; the audit log says why", async () => {
    expect(await both(`${API}/projects`, { key: bound })).toEqual([200, 401]);
    const unknown = await ask(`${API}/projects`, { key: "no such key" });
    const refused = await ask(`${API}/projects`, { key: bound, from: OUTSIDE, headers: { "audit-id": "outside" } });
    expect(refused.body).toEqual(unknown.body);
    const event =
      (await readFile(join(server.directory, "audit.log"), "utf8"))
        .split("\n")
        .find((line) => line.includes('"outside"')) ?? "";
    expect(JSON.parse(event).annotations).toMatchObject({
      "authentication.kubernetes.io/refusal": `spec.allowedSourceRanges does not include ${OUTSIDE}`,
      "authentication.kubernetes.io/credential-id": expect.any(String),
    });
    const { body: metrics } = await ask("/metrics", { key: admin });
    expect(metrics).toMatch(/postern_access_key_refusals_total\{reason="SourceNotAllowed"\} [1-9]/);
  });

  it.each([{ "X-Forwarded-For": INSIDE }, { Forwarded: `for=${INSIDE}` }, { "X-Real-IP": INSIDE }])(
    "is refused elsewhere whatever a client says of itself: %j",
    async (headers) => {
      expect((await ask(`${API}/projects`, { key: bound, from: OUTSIDE, headers })).status).toBe(401);
    },
  );

  it("is refused in token reviews, which do not say where its bearer is", async () => {
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: bound } };
    const { body } = await ask("/apis/authentication.k8s.io/v1/tokenreviews", { key: admin, body: review });
    expect(body.status.authenticated ?? false).toBe(false);
    // The same question in the form that control planes ask it; a bearer may ask about its own key.
    const self = { apiVersion: "management.postern/v1", kind: "Self", spec: { accessKey: bound } };
    expect((await ask(`${API}/selves`, { key: admin, body: self })).status).toBe(401);
    expect((await ask(`${API}/selves`, { key: bound, body: self })).status).toBe(201);
  });

  it("opens no session elsewhere, and leaves no key of one behind", async () => {
    const count = async () => (await ask(KEYS, { key: admin })).body.items.length;
    const before = await count();
    const headers = { "sec-fetch-site": "same-origin" };
    expect((await ask("/login/session", { from: OUTSIDE, body: { key: bound }, headers })).status).toBe(401);
    expect(await count()).toBe(before);
  });

  it("makes keys with its own ranges, or narrower ones, and none that are wider", async () => {
    const { body } = await create("child", {}, bound);
    expect(body.spec.allowedSourceRanges).toEqual([INSIDE, "2001:db8::/32"]);
    expect(await both(`${API}/projects`, { key: body.spec.key })).toEqual([200, 401]);
    expect((await create("narrower", { allowedSourceRanges: ["2001:db8:1::/48"] }, bound)).status).toBe(201);
    for (const ranges of [["127.0.0.0/8"], [INSIDE, OUTSIDE], ["2001:d00::/24"], ["0.0.0.0/0"]]) {
      const wider = await create("wider", { allowedSourceRanges: ranges }, bound);
      expect([wider.status, wider.body.message]).toEqual([403, expect.stringContaining("spec.allowedSourceRanges")]);
    }
  });

  it("cannot free itself, or take over a key without ranges", async () => {
    expect((await create("free", { user: "admin" })).status).toBe(201);
    const changes = [
      ["bound", { allowedSourceRanges: null }],
      ["bound", { allowedSourceRanges: [] }],
      ["bound", { allowedSourceRanges: ["0.0.0.0/0"] }],
      ["free", { displayName: "x" }],
      ["free", { allowedSourceRanges: [INSIDE] }],
    ] as const;
    for (const [name, spec] of changes) {
      const patched = await ask(`${KEYS}/${name}`, {
        key: bound,
        method: "PATCH",
        headers: MERGE,
        body: { spec },
      });
      expect([name, patched.status]).toEqual([name, 403]);
    }
    const rotated = await ask(`${KEYS}/free/rotate`, {
      key: bound,
      body: { spec: { nonce: "nonce-of-the-rotation" } },
    });
    expect(rotated.status).toBe(403);
  });

  it("is locked by an old value that is used from elsewhere", async () => {
    const { key: old } = (await create("stolen", { user: "admin", allowedSourceRanges: [INSIDE] })).body.spec;
    const rotation = { spec: { nonce: "nonce-of-the-rotation" } };
    const { body } = await ask(`${KEYS}/stolen/rotate`, { key: admin, body: rotation });
    const { key } = body.status;
    expect(await both(`${API}/projects`, { key })).toEqual([200, 401]);
    expect((await ask(`${API}/projects`, { key: old, from: OUTSIDE })).status).toBe(401);
    expect((await ask(`${API}/projects`, { key })).status).toBe(401);
    await expect
      .poll(async () => {
        const about = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=stolen`;
        return (await ask(about, { key: admin })).body.items.map(({ reason }: any) => reason);
      })
      .toContain("RetiredValueUsed");
  });

  it("is not locked by an old value in its grace period, or by a good one, from elsewhere", async () => {
    const { key: old } = (await create("graceful", { user: "admin", allowedSourceRanges: [INSIDE] })).body.spec;
    const rotation = { spec: { nonce: "nonce-of-the-rotation", gracePeriodSeconds: 600 } };
    const { body } = await ask(`${KEYS}/graceful/rotate`, { key: admin, body: rotation });
    for (const key of [old, body.status.key])
      expect((await ask(`${API}/projects`, { key, from: OUTSIDE })).status).toBe(401);
    // Neither did the new value end the grace period from there.
    expect((await ask(`${API}/projects`, { key: old })).status).toBe(200);
    expect((await ask(`${API}/projects`, { key: body.status.key })).status).toBe(200);
  });

  it("makes no trust rule that issues keys for other addresses", async () => {
    const rule = (allowedSourceRanges?: readonly string[]) => ({
      metadata: { name: "ci" },
      spec: {
        issuer: { url: "https://issuer.example", jwks: '{"keys":[]}' },
        audiences: ["us"],
        claims: [{ claim: "sub", values: ["x"] }],
        user: "admin",
        ...(allowedSourceRanges && { allowedSourceRanges }),
      },
    });
    const write = (ranges?: readonly string[]) => ask(`${API}/clustertrustrules`, { key: bound, body: rule(ranges) });
    for (const ranges of [undefined, ["0.0.0.0/0"]]) {
      const refused = await write(ranges);
      expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("allowedSourceRanges")]);
    }
  });

  it("gives its session the same ranges", async () => {
    const opened = await ask("/login/session", {
      body: { key: bound },
      headers: { "sec-fetch-site": "same-origin" },
    });
    expect(opened.status, JSON.stringify(opened.body)).toBe(200);
    const cookie = String(opened.headers["set-cookie"]).match(new RegExp(`${SESSION}=[^;]+`))?.[0] ?? "";
    const headers = { cookie, "sec-fetch-site": "same-origin" };
    expect(await both(`${API}/projects`, { headers })).toEqual([200, 401]);
  });

  it("gives kubeconfigs the same ranges, with a token and with a certificate", async () => {
    const kubeconfig = async (spec: object) => {
      const { status, body } = await ask(`${INSTANCE}/kubeconfig`, { key: bound, body: { spec } });
      expect(status, JSON.stringify(body)).toBe(201);
      return (decodeYaml(body.status.kubeConfig).value as any).users[0].user;
    };
    const path = `${CLUSTER}/api/v1/namespaces`;
    const { token } = await kubeconfig({});
    expect(await both(path, { key: token })).toEqual([200, 401]);
    const user = await kubeconfig({ clientCert: true });
    const text = (member: string): string => Buffer.from(user[member], "base64").toString();
    const pair = { cert: text("client-certificate-data"), certKey: text("client-key-data") };
    expect(await both(path, pair)).toEqual([200, 401]);
  });

  it("gives tokens of ServiceAccounts the same ranges", async () => {
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const whoAmI = `${CLUSTER}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    const { body } = await ask(`${CLUSTER}/api/v1/namespaces/default/serviceaccounts/default/token`, {
      key: bound,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    });
    expect(await both(whoAmI, { key: body.status.token, body: review })).toEqual([201, 401]);
    const secret = {
      metadata: { name: "token", annotations: { "kubernetes.io/service-account.name": "default" } },
      type: "kubernetes.io/service-account-token",
    };
    const secrets = `${CLUSTER}/api/v1/namespaces/default/secrets`;
    expect((await ask(secrets, { key: bound, body: secret })).status).toBe(201);
    const data = async () => (await ask(`${secrets}/token`, { key: bound })).body.data?.token;
    await expect.poll(data).toEqual(expect.any(String));
    const key = Buffer.from(await data(), "base64").toString();
    expect(await both(whoAmI, { key, body: review })).toEqual([201, 401]);
  });

  it("ends its open watches when its ranges exclude their client", async () => {
    const { key } = (await create("moving", { user: "admin", allowedSourceRanges: [INSIDE] })).body.spec;
    const watch = ask(`${API}/projects?watch=true`, { key });
    await expect.poll(async () => (await ask(`${API}/projects`, { key })).status).toBe(200);
    const spec = { allowedSourceRanges: [OUTSIDE] };
    const moved = await ask(`${KEYS}/moving`, { key: admin, method: "PATCH", headers: MERGE, body: { spec } });
    expect(moved.status).toBe(200);
    expect((await watch).status).toBe(200);
    expect(await both(`${API}/projects`, { key })).toEqual([401, 200]);
  });

  it.each([
    ["allowedSourceRanges", [INSIDE, OUTSIDE], [OUTSIDE]],
    ["audiences", ["postern:platform", "other"], ["postern:platform"]],
  ])("ends what was made with it, once its %s are fewer", async (field, before, after) => {
    const name = `parent-${field.toLowerCase()}`;
    const parent = (await create(name, { user: "admin", [field]: before })).body.spec.key;
    const { key } = (await create(`${name}-child`, { user: "admin" }, parent)).body.spec;
    const watch = ask(`${API}/projects?watch=true`, { key });
    await expect.poll(() => both(`${API}/projects`, { key })).toEqual([200, 200]);
    const body = { spec: { [field]: after } };
    expect((await ask(`${KEYS}/${name}`, { key: admin, method: "PATCH", headers: MERGE, body })).status).toBe(200);
    expect((await watch).status).toBe(200);
    expect(await both(`${API}/projects`, { key })).toEqual([401, 401]);
    expect((await ask(`${API}/projects`, { key: parent, from: OUTSIDE })).status).toBe(200);
  });

  it.each<readonly [ranges: readonly unknown[], field: string]>([
    [["localhost"], "spec.allowedSourceRanges[0]"],
    [[INSIDE, "10.0.0.0/33"], "spec.allowedSourceRanges[1]"],
    [["10.0.0.0/8/8"], "spec.allowedSourceRanges[0]"],
    [["fe80::1%eth0"], "spec.allowedSourceRanges[0]"],
    [[""], "spec.allowedSourceRanges[0]"],
    [[INSIDE, INSIDE], "spec.allowedSourceRanges[1]"],
    [Array.from({ length: 65 }, (_, at) => `10.0.0.${at}`), "spec.allowedSourceRanges"],
  ])("cannot have ranges without a meaning, and no more than 64: %#", async (ranges, field) => {
    const { status, body } = await create("invalid", { allowedSourceRanges: ranges });
    expect([status, body.details?.causes?.[0]?.field]).toEqual([422, field]);
  });
});
