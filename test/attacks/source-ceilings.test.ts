// Networks as a ceiling: a project, and whatever is in it, is used from its own networks alone, and a user from those of the user.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { httpClient } from "../e2e/testing/http-client.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { type Attack, attackerOf, MERGE } from "./testing/attacking.ts";

const INSTANCES = "namespaces/p-default/virtualclusterinstances";
const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const INSIDE = "127.0.0.2";
const OUTSIDE = "127.0.0.1";

let server: OwnServer;
let client: Awaited<ReturnType<typeof attackerOf>>;

/** How a request is answered inside and outside of the networks. */
const both = async (attack: Attack): Promise<readonly number[]> => {
  const answers: number[] = [];
  for (const from of [INSIDE, OUTSIDE]) answers.push((await client.send({ ...attack, from })).status);
  return answers;
};
const patch = (path: string, spec: object, as = client.admin, from = OUTSIDE) =>
  client.send({ path, method: "PATCH", headers: MERGE, body: { spec }, as, from });
const setProject = async (allowedSourceRanges: readonly string[] | null) =>
  expect((await patch("projects/default", { allowedSourceRanges })).status).toBe(200);
const kubeconfig = async (spec: object, as: string) => {
  const { status } = await client.must({ path: `${INSTANCES}/demo/kubeconfig`, as, from: INSIDE, body: { spec } });
  return (decodeYaml(status.kubeConfig).value as any).users[0].user;
};
/** Requests that last, as the metrics count them. */
const lasting = async (): Promise<number> => {
  const metrics = (await client.send({ path: "/metrics" })).text;
  const counts = [...metrics.matchAll(/^apiserver_longrunning_requests\{[^}]*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
};
const text = (value: string): string => Buffer.from(value, "base64").toString();
const certificateIn = (user: any) => ({
  cert: text(user["client-certificate-data"]),
  key: text(user["client-key-data"]),
});

beforeAll(async () => {
  server = await startOwnServer((directory) => [
    ...["--audit-log-path", join(directory, "audit.log"), "--audit-log-mode", "blocking"],
    ...["--failed-logins-per-minute", "0"],
  ]);
  client = await attackerOf(server);
  await vi.waitUntil(async () => (await client.must({ path: `${INSTANCES}/demo` })).status?.phase === "Ready", 30_000);
});
afterAll(() => server?.[Symbol.asyncDispose]());

describe("a project with networks", () => {
  let mia: string;
  const credentials: { [name: string]: Attack } = {};

  beforeAll(async () => {
    mia = await client.user("mia");
    const members = [{ kind: "User", name: "mia", clusterRole: "postern:project-admin" }];
    await patch("projects/default", { members });
    const { token } = await kubeconfig({}, mia);
    const path = `${CLUSTER}/api/v1/namespaces`;
    const account = await client.must({
      path: `${CLUSTER}/api/v1/namespaces/default/serviceaccounts/default/token`,
      as: mia,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    });
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    Object.assign(credentials, {
      "the key of a member": { path, as: mia },
      "the key of an administrator": { path },
      "the token of a kubeconfig": { path, as: token },
      "the certificate of a kubeconfig": {
        path,
        certificate: certificateIn(await kubeconfig({ clientCert: true }, mia)),
      },
      "the token of a ServiceAccount": {
        path: `${CLUSTER}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
        as: account.status.token,
        body: review,
      },
    });
    await setProject([INSIDE]);
  });
  afterAll(() => setProject(null));

  it.each([
    "the key of a member",
    "the key of an administrator",
    "the token of a kubeconfig",
    "the certificate of a kubeconfig",
    "the token of a ServiceAccount",
  ])("lets %s into its clusters from there alone", async (name) => {
    const [inside = 0, outside] = await both(credentials[name] ?? { path: "" });
    expect([inside < 300, outside]).toEqual([true, 403]);
  });

  it.each([{ "X-Forwarded-For": INSIDE }, { Forwarded: `for=${INSIDE}` }, { "X-Real-IP": INSIDE }])(
    "believes no client what it says of itself: %j",
    async (headers) => {
      const { status } = await client.send({ path: `${CLUSTER}/api/v1/namespaces`, as: mia, headers });
      expect(status).toBe(403);
    },
  );

  it("says why, to those that may use it and in the audit log", async () => {
    const refused = await client.send({
      path: `${CLUSTER}/api/v1/namespaces`,
      as: mia,
      headers: { "audit-id": "elsewhere" },
    });
    expect(refused.body.message).toContain(`spec.allowedSourceRanges of project "default" does not include ${OUTSIDE}`);
    const lines = (await readFile(join(server.directory, "audit.log"), "utf8")).split("\n");
    const event = JSON.parse(lines.find((line) => line.includes('"elsewhere"')) ?? "{}");
    expect(event.annotations).toMatchObject({ "postern/authorization-source": "SourceNotAllowed" });
    const stranger = await client.user("stranger");
    const other = await client.send({ path: `${CLUSTER}/api/v1/namespaces`, as: stranger });
    expect([other.status, other.text.includes("allowedSourceRanges")]).toEqual([403, false]);
  });

  it("is used by its members from there alone", async () => {
    const secrets = "/api/v1/namespaces/p-default/secrets";
    for (const path of ["projects/default", INSTANCES, `${INSTANCES}/demo`, secrets])
      expect([path, await both({ path, as: mia })]).toEqual([path, [200, 403]]);
    const made = { metadata: { name: "made" }, spec: {} };
    expect((await client.send({ path: INSTANCES, as: mia, body: made })).status).toBe(403);
    expect((await client.send({ path: `${INSTANCES}/demo/kubeconfig`, as: mia, body: { spec: {} } })).status).toBe(403);
  });

  it("does not exist in the lists and watches of its members elsewhere", async () => {
    for (const path of ["projects", "virtualclusterinstances"]) {
      const seen = async (from: string) =>
        (await client.must({ path, as: mia, from })).items.map(({ metadata }: any) => metadata.name);
      expect([path, (await seen(INSIDE)).length > 0, await seen(OUTSIDE)]).toEqual([path, true, []]);
    }
    const ask = await httpClient(server);
    const watch = await ask("/apis/management.postern/v1/projects?watch=true&timeoutSeconds=1", { key: mia });
    expect(watch.text).not.toContain('"default"');
  });

  it("can still be changed by those that may lift its limits, and by no member", async () => {
    expect((await client.send({ path: "projects/default" })).status).toBe(200);
    for (const from of [INSIDE, OUTSIDE])
      for (const ranges of [null, ["0.0.0.0/0"]])
        expect((await patch("projects/default", { allowedSourceRanges: ranges }, mia, from)).status).toBe(403);
  });

  it("is not opened by a binding in its namespace", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/p-default/rolebindings";
    const binding = {
      metadata: { name: "mia" },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "mia" }],
      roleRef: { kind: "ClusterRole", apiGroup: "rbac.authorization.k8s.io", name: "postern:project-admin" },
    };
    await client.must({ path: rbac, body: binding });
    expect(await both({ path: `${INSTANCES}/demo`, as: mia })).toEqual([200, 403]);
    expect(await both(credentials["the key of a member"] ?? { path: "" })).toEqual([200, 403]);
  });

  it("ends what is open elsewhere when its networks change, and lets it in again", async () => {
    await setProject([INSIDE, OUTSIDE]);
    const ask = await httpClient(server);
    const before = await lasting();
    const opened = [
      `${CLUSTER}/api/v1/namespaces?watch=true`,
      `/apis/management.postern/v1/${INSTANCES}?watch=true`,
      "/apis/management.postern/v1/projects?watch=true",
    ].map((path) => ask(path, { key: mia }));
    await expect.poll(lasting).toBe(before + 3);
    await setProject([INSIDE]);
    for (const watch of await Promise.all(opened)) expect(watch.status).toBe(200);
    expect(await both({ path: `${INSTANCES}/demo`, as: mia })).toEqual([200, 403]);
    await setProject([INSIDE, OUTSIDE]);
    expect(await both({ path: `${INSTANCES}/demo`, as: mia })).toEqual([200, 200]);
    await setProject([INSIDE]);
  });

  it.each([["localhost"], ["10.0.0.0/33"], [INSIDE, INSIDE]])("cannot have %s", async (...ranges) => {
    expect((await patch("projects/default", { allowedSourceRanges: ranges })).status).toBe(422);
  });
});

describe("a user with networks", () => {
  let zoe: string;
  const credentials: Attack[] = [];

  beforeAll(async () => {
    zoe = await client.user("zoe");
    const members = [{ kind: "User", name: "zoe", clusterRole: "postern:project-admin" }];
    await patch("projects/default", { members });
    const { token } = await kubeconfig({}, zoe);
    const session = await client.send({
      path: "/login/session",
      as: "",
      body: { key: zoe },
      headers: { "sec-fetch-site": "same-origin" },
    });
    const path = `${CLUSTER}/api/v1/namespaces`;
    const account = await client.must({
      path: `${CLUSTER}/api/v1/namespaces/default/serviceaccounts/default/token`,
      as: zoe,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    });
    credentials.push(
      { path, as: zoe },
      {
        path: "projects",
        as: "",
        headers: { cookie: session.cookie.split(";")[0] ?? "", "sec-fetch-site": "same-origin" },
      },
      { path, as: token },
      { path, certificate: certificateIn(await kubeconfig({ clientCert: true }, zoe)) },
      {
        path: `${CLUSTER}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
        as: account.status.token,
        body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      },
    );
    expect((await patch("users/zoe", { allowedSourceRanges: [INSIDE] })).status).toBe(200);
  });

  it("is let in from there alone, with each credential", async () => {
    for (const [at, credential] of credentials.entries()) {
      const [inside = 0, outside] = await both(credential);
      expect([at, inside < 300, outside]).toEqual([at, true, 401]);
    }
  });

  it("makes no key that is accepted elsewhere", async () => {
    const body = { metadata: { name: "free-zoe" }, spec: { allowedSourceRanges: ["0.0.0.0/0"] } };
    const { spec } = await client.must({ path: "ownedaccesskeys", as: zoe, from: INSIDE, body });
    expect(await both({ path: "projects", as: spec.key })).toEqual([200, 401]);
  });

  it("changes nothing about that, and is refused in reviews", async () => {
    expect((await patch("users/zoe", { allowedSourceRanges: null }, zoe, INSIDE)).status).toBe(403);
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: zoe } };
    const { body } = await client.send({ path: "/apis/authentication.k8s.io/v1/tokenreviews", body: review });
    expect(body.status.authenticated ?? false).toBe(false);
    expect((await patch("users/zoe", { allowedSourceRanges: ["nowhere"] })).status).toBe(422);
  });

  it("loses what is open elsewhere", async () => {
    await patch("users/zoe", { allowedSourceRanges: [INSIDE, OUTSIDE] });
    const ask = await httpClient(server);
    const before = await lasting();
    const watch = ask("/apis/management.postern/v1/projects?watch=true", { key: zoe });
    await expect.poll(lasting).toBe(before + 1);
    await patch("users/zoe", { allowedSourceRanges: [INSIDE] });
    expect((await watch).status).toBe(200);
    expect(await both({ path: "projects", as: zoe })).toEqual([200, 401]);
  });
});
