// The requests that existing command-line clients of the platform send, and what they read from the answers, with the domain they know.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Answer, adminKey, type HttpClient, type HttpRequest, httpClient } from "./testing/http-client.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";

const GROUP = "management.loft.sh/v1";
const BASE = `/kubernetes/management/apis/${GROUP}`;
const INSTANCES = "namespaces/p-default/virtualclusterinstances";
const REFUSED = "platform access key not found. Please login again";
const CLIENT = {
  accept: "application/json, */*",
  "user-agent": "vcluster/v0.0.0 (linux/amd64) kubernetes/$Format",
};

let server: OwnServer;
let http: HttpClient;
let key: string;

beforeAll(async () => {
  server = await startOwnServer(["--platform-domain", "loft.sh"]);
  http = await httpClient(server);
  key = await adminKey(server);
  const team = await ask("teams", {
    body: object("Team", { name: "devs" }, { displayName: "Devs", users: ["admin"] }),
  });
  expect(team.status, team.text).toBe(201);
  await vi.waitFor(async () => expect((await ok(`${INSTANCES}/demo`)).status?.phase).toBe("Ready"), {
    timeout: 30_000,
  });
});

afterAll(() => server?.[Symbol.asyncDispose]());

const ask = (path: string, { headers, ...options }: HttpRequest = {}): Promise<Answer> =>
  http(path.startsWith("/") ? path : `${BASE}/${path}`, { key, headers: { ...CLIENT, ...headers }, ...options });

async function ok(path: string, options: HttpRequest = {}): Promise<any> {
  const { status, text, body } = await ask(path, options);
  expect([200, 201], text).toContain(status);
  return body;
}

/** Once more where a controller has written its status meanwhile. */
async function replace(path: string, change: (current: any) => object): Promise<any> {
  for (;;) {
    const { status, text, body } = await ask(path, { method: "PUT", body: change(await ok(path)) });
    if (status === 409) continue;
    expect(status, text).toBe(200);
    return body;
  }
}

const object = (kind: string, metadata: object, spec: object): object => ({
  kind,
  apiVersion: GROUP,
  metadata,
  spec,
  status: {},
});

const SELF = object("Self", {}, {});

describe("login", () => {
  it("learns from selves who it is and where projects live", async () => {
    const self = await ok("selves", { body: SELF });
    expect(self).toMatchObject({ kind: "Self", apiVersion: GROUP });
    expect(self.status).toMatchObject({
      user: {
        name: "admin",
        username: "admin",
        displayName: "Administrator",
        subject: "admin",
        teams: [{ name: "devs", displayName: "Devs" }],
      },
      accessKey: "admin",
      accessKeyType: "User",
      subject: "admin",
      projectNamespacePrefix: "p-",
    });
    expect(self.status.groups).toEqual(
      expect.arrayContaining(["loft:admins", "loft:user:admin", "loft:team:devs", "system:authenticated"]),
    );
  });

  it("introspects another key", async () => {
    const { spec } = await ok("ownedaccesskeys", {
      body: object("OwnedAccessKey", { name: "other" }, { type: "Login" }),
    });
    const { status } = await ok("selves", { body: object("Self", {}, { accessKey: spec.key }) });
    expect(status).toMatchObject({ user: { name: "admin" }, accessKey: "other", accessKeyType: "Login" });
  });

  it.each(["Bearer", "bearer", "BEARER"])("takes the scheme as %s", async (scheme) => {
    const { status } = await ask("selves", {
      body: SELF,
      key: undefined,
      headers: { authorization: `${scheme} ${key}` },
    });
    expect(status).toBe(201);
  });

  it("recognises a session that is gone by the text of the refusal", async () => {
    for (const wrong of ["pst_aaaaaaaaaa_unknown", "x".repeat(64)]) {
      const answer = await ask("selves", { body: SELF, key: wrong });
      expect(answer).toMatchObject({
        status: 401,
        body: { kind: "Status", status: "Failure", reason: "Unauthorized", code: 401, message: REFUSED },
      });
    }
  });

  it("reads the user and its teams", async () => {
    const user = await ok("users/admin");
    expect(user).toMatchObject({ kind: "User", apiVersion: GROUP, spec: { username: "admin" } });
    expect(user.status.teams).toEqual(["devs"]);
    expect(await ok("teams/devs")).toMatchObject({ kind: "Team", spec: { displayName: "Devs", users: ["admin"] } });
  });
});

describe("projects", () => {
  it("are listed and read", async () => {
    const { items } = await ok("projects");
    expect(items).toMatchObject([{ metadata: { name: "default" }, spec: { displayName: "Default" } }]);
    expect(await ok("projects/default")).toMatchObject({
      metadata: { name: "default" },
      spec: { displayName: "Default", allowedClusters: [{ name: "*" }] },
    });
    expect(await ask("projects/nothing")).toMatchObject({
      status: 404,
      body: { reason: "NotFound", details: { name: "nothing", kind: "projects" } },
    });
  });

  it("name the clusters that their virtual clusters run on", async () => {
    const { clusters, ...rest } = await ok("projects/default/clusters");
    expect(rest).toMatchObject({ kind: "ProjectClusters", apiVersion: GROUP, metadata: { name: "default" } });
    const instance = await ok(`${INSTANCES}/demo`);
    expect(clusters.map(({ metadata }: any) => metadata.name)).toContain(instance.spec.clusterRef.cluster);
    expect(clusters[0].spec.displayName).toBe("Built-in cluster");
  });
});

describe("virtual clusters", () => {
  const expected = {
    metadata: { name: "demo", namespace: "p-default", creationTimestamp: expect.stringMatching(/Z$/) },
    spec: {
      clusterRef: { cluster: "embedded", namespace: "p-default", virtualCluster: "demo" },
      owner: { user: "admin" },
    },
    status: { phase: "Ready", canUse: true, canUpdate: true },
  };

  it.each(["virtualclusterinstances", INSTANCES])(
    "at %s say whether the caller may use them, when asked",
    async (path) => {
      const { items } = await ok(`${path}?extended=true`);
      expect(items).toMatchObject([expected]);
      expect((await ok(path)).items[0].status).not.toHaveProperty("canUse");
    },
  );

  it("are read, plainly and extended", async () => {
    expect(await ok(`${INSTANCES}/demo?extended=true`)).toMatchObject({ kind: "VirtualClusterInstance", ...expected });
    expect(await ok(`${INSTANCES}/demo`)).toMatchObject({ status: { phase: "Ready" } });
  });

  it("are used by a project's viewer only as far as it may", async () => {
    await ok("users", { body: object("User", { name: "vera" }, {}) });
    const members = [{ kind: "User", name: "vera", clusterRole: "loft:project-viewer" }];
    await replace("projects/default", (project) => ({ ...project, spec: { ...project.spec, members } }));
    const { spec } = await ok("ownedaccesskeys", {
      body: object("OwnedAccessKey", { name: "veras" }, { user: "vera" }),
    });
    const seen = async () => (await ask(`${INSTANCES}?extended=true`, { key: spec.key })).body?.items;
    await expect
      .poll(seen)
      .toMatchObject([{ metadata: { name: "demo" }, status: { canUse: false, canUpdate: false } }]);
  });

  it("wake up by a merge patch, and go to sleep by a replacement", async () => {
    const annotations = { "sleepmode.loft.sh/last-activity": "1" };
    const patched = await ok(`${INSTANCES}/demo`, {
      method: "PATCH",
      body: { metadata: { annotations } },
      headers: { "content-type": "application/merge-patch+json" },
    });
    expect(patched.metadata.annotations).toMatchObject(annotations);
    const replaced = await replace(`${INSTANCES}/demo`, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, "sleepmode.loft.sh/force": "true" } },
    }));
    expect(replaced.metadata.annotations["sleepmode.loft.sh/force"]).toBe("true");
  });

  it("come and go by POST and DELETE", async () => {
    const created = await ask(INSTANCES, {
      body: object("VirtualClusterInstance", { name: "short", namespace: "p-default" }, { owner: { user: "admin" } }),
    });
    expect(created.status, created.text).toBe(201);
    expect(created.body.spec.clusterRef).toMatchObject({ cluster: "embedded", virtualCluster: "short" });
    const phase = async () => (await ok(`${INSTANCES}/short`)).status?.phase;
    await expect.poll(phase).toBe("Ready");
    await ok(`${INSTANCES}/short`, { method: "DELETE", body: { kind: "DeleteOptions", apiVersion: GROUP } });
    await expect.poll(async () => (await ask(`${INSTANCES}/short`)).status).toBe(404);
  });

  it("answer kubectl behind the proxy with the login key", async () => {
    const { items } = await ok("/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces");
    expect(items.map(({ metadata }: any) => metadata.name)).toContain("default");
    expect((await ask("/kubernetes/project/default/virtualcluster/demo/apis/storage.loft.sh/v1")).status).toBe(404);
  });

  it("give their control plane a key", async () => {
    const { apiVersion, kind, accessKey, spec, status } = await ok(`${INSTANCES}/demo/accesskey`);
    // Typed clients refuse any other kind.
    expect([apiVersion, kind]).toEqual([GROUP, "VirtualClusterAccessKey"]);
    expect(accessKey).toEqual(expect.any(String));
    expect([spec, status]).toEqual([undefined, undefined]);
    const self = await ask("selves", { body: SELF, key: accessKey });
    expect(self.status, self.text).toBe(201);
  });
});

describe("clusters and spaces", () => {
  it("are listed and read", async () => {
    const { items } = await ok("clusters");
    expect(items).toMatchObject([
      {
        metadata: { name: "embedded", creationTimestamp: expect.any(String) },
        spec: { displayName: "Built-in cluster" },
      },
    ]);
    expect(await ok("clusters/embedded")).toMatchObject({ kind: "Cluster", metadata: { name: "embedded" } });
    expect(await ok("spaceinstances?extended=true")).toMatchObject({ kind: "SpaceInstanceList", items: [] });
    expect(await ok("namespaces/p-default/spaceinstances?extended=true")).toMatchObject({ items: [] });
  });

  it("give a cluster's agent what it connects with", async () => {
    const answer = await ok("clusters/embedded/accesskey");
    expect(answer.accessKey).toEqual(expect.any(String));
    expect(answer.loftHost).toBe(new URL(server.url).host);
    expect(Buffer.from(answer.caCert, "base64").toString()).toContain("BEGIN CERTIFICATE");
    expect([answer.spec, answer.status]).toEqual([undefined, undefined]);
  });
});

describe("access keys", () => {
  it("are made as the client writes them, and shown once", async () => {
    const body = object(
      "OwnedAccessKey",
      { name: "ci-key" },
      { displayName: "ci-key", user: "admin", ttl: 3600, scope: { roles: [{ role: "vcluster" }] }, type: "User" },
    );
    const { spec } = await ok("ownedaccesskeys", { body });
    expect(spec).toMatchObject({
      displayName: "ci-key",
      user: "admin",
      ttl: 3600,
      key: expect.stringMatching(/.{32}/),
    });
    const { spec: again } = await ok("ownedaccesskeys/ci-key");
    expect(again).not.toHaveProperty("key");
    expect(
      (await ask("ownedaccesskeys/ci-key", { method: "PUT", body: await ok("ownedaccesskeys/ci-key") })).status,
    ).toBe(200);
    expect((await ask("selves", { body: SELF, key: spec.key })).status).toBe(201);
    expect((await ok("users/admin/accesskeys")).accessKeys.map(({ metadata }: any) => metadata.name)).toContain(
      "ci-key",
    );
    expect(await ok("teams/devs/accesskeys")).toHaveProperty("accessKeys");
  });

  it("get a name when the client sends none", async () => {
    const made = await ok("ownedaccesskeys", {
      body: {
        kind: "OwnedAccessKey",
        apiVersion: GROUP,
        metadata: {},
        spec: { user: "admin", scope: { allowLoftCli: true } },
        status: {},
      },
    });
    expect(made.metadata.name).toMatch(/^[a-z0-9][a-z0-9-]+$/);
    expect(made.spec.key).toEqual(expect.any(String));
    expect((await ask("projects", { key: made.spec.key })).status).toBe(200);
    expect((await ask("ownedaccesskeys", { key: made.spec.key })).status).toBe(403);
  });

  it.each([GROUP, "v1", "meta.k8s.io/v1"])("are deleted with options of %s", async (apiVersion) => {
    const { metadata, spec } = await ok("ownedaccesskeys", { body: object("OwnedAccessKey", {}, { type: "Login" }) });
    const answer = await ask(`ownedaccesskeys/${metadata.name}`, {
      method: "DELETE",
      key: spec.key,
      body: { kind: "DeleteOptions", apiVersion },
    });
    expect(answer).toMatchObject({ status: 200, body: { kind: "Status", status: "Success" } });
    expect(await ask("selves", { body: SELF, key: spec.key })).toMatchObject({
      status: 401,
      body: { message: REFUSED },
    });
  });
});

describe("the rest", () => {
  it("asks for rights in the platform's own group", async () => {
    const resourceAttributes = {
      verb: "create",
      group: "management.loft.sh",
      version: "v1",
      resource: "virtualclusterinstances",
      namespace: "p-default",
    };
    const { status } = await ok("selfsubjectaccessreviews", {
      body: object("SelfSubjectAccessReview", {}, { resourceAttributes }),
    });
    expect(status).toMatchObject({ allowed: true });
    expect(status.denied ?? false).toBe(false);
  });

  it("reads the version and the health without a key", async () => {
    const { status, body } = await http("/version");
    expect(status).toBe(200);
    expect(Number.parseInt(body.major, 10)).toBeGreaterThan(0);
    expect(body.minor).toMatch(/^\d+$/);
    expect(body.version ?? body.gitVersion).toMatch(/^v?\d+\.\d+\.\d+/);
    expect(await http("/healthz")).toMatchObject({ status: 200, text: "ok" });
    expect((await ok("/kubernetes/management/version?timeout=5s")).gitVersion).toMatch(/^v1\.36/);
    for (const path of ["/openapi/v2?timeout=32s", "/openapi/v3", "/api", "/apis"])
      await ok(`/kubernetes/management${path}`);
  });

  it("never names another domain", async () => {
    for (const path of ["/openapi/v2", "/apis", "/openapi/v3"])
      expect((await ask(path)).text).not.toContain("management.postern");
  });
});
