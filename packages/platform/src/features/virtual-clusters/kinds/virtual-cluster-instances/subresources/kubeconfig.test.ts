import { createServer } from "node:net";
import type { AuthorizationAttributes } from "@postern/apiserver/authorization/authorizer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  createTenancy,
  GROUP,
  PLATFORM_CA,
  PLATFORM_URL,
  type Tenancy,
  userOf,
} from "../../../../../server/testing/tenancy.ts";
import { accessKey } from "../../../../access-keys/testing/access-key.ts";
import { alice, ask, countOf, URL_OF, withTenancy } from "./testing/ask-kubeconfig.ts";

let shared: Tenancy;
beforeAll(async () => {
  shared = await createTenancy();
});
afterAll(async () => {
  await shared[Symbol.asyncDispose]();
});

describe("a kubeconfig with a token", () => {
  it("is one cluster, one user and one context named after project and virtual cluster, at the platform's address", async () => {
    const { status, body } = await ask(shared);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      apiVersion: `${GROUP}/v1`,
      kind: "VirtualClusterInstanceKubeConfig",
      metadata: { name: "demo", namespace: "p-default" },
    });
    expect(parse(body.status.kubeConfig)).toEqual({
      apiVersion: "v1",
      kind: "Config",
      preferences: {},
      "current-context": "default-demo",
      clusters: [
        {
          name: "default-demo",
          cluster: {
            server: `${PLATFORM_URL}/kubernetes/project/default/virtualcluster/demo`,
            "certificate-authority-data": Buffer.from(PLATFORM_CA).toString("base64"),
          },
        },
      ],
      contexts: [{ name: "default-demo", context: { cluster: "default-demo", user: "default-demo" } }],
      users: [{ name: "default-demo", user: { token: shared.minted.at(-1)?.key } }],
    });
    expect(body.status.kubeConfig).toMatch(/^\s+token: \S+$/m);
  });

  it("never makes a client trust any server (security book 36)", async () => {
    for (const spec of [{}, { clientCert: true }, { server: "https://elsewhere.test" }]) {
      const { body } = await ask(shared, { spec });
      expect(body.status.kubeConfig).not.toContain("insecure-skip-tls-verify");
      expect(body.status.kubeConfig).toContain("certificate-authority-data");
    }
  });

  it("contains a new key of the requester for this virtual cluster, valid as long as the requesting key", async () => {
    shared.keys.set("asking", accessKey({ id: "asking", name: "asking", uid: "asking-uid", groups: ["extra"] }));
    await ask(shared, { credentialId: "asking", spec: { certificateTTL: 1200 } });
    expect(shared.minted.at(-1)).toMatchObject({
      owner: { kind: "user", name: "alice" },
      groups: ["extra"],
      scope: { project: "default", virtualCluster: "demo" },
      ttl: 1200,
      parent: { name: "asking", uid: "asking-uid" },
    });
  });

  it("belongs to the impersonated user, with the requesting key as its parent", async () => {
    shared.keys.set("admin", accessKey({ id: "admin", uid: "admin-uid", owner: { kind: "user", name: "bob" } }));
    await ask(shared, { credentialId: "admin" });
    expect(shared.minted.at(-1)).toMatchObject({
      owner: { kind: "user", name: "alice" },
      parent: { uid: "admin-uid" },
    });
  });

  it("belongs to a subject with its groups if the caller is not in the directory", async () => {
    await ask(shared, { user: { name: "ci", groups: ["robots", "system:authenticated"] } });
    expect(shared.minted.at(-1)).toMatchObject({ owner: { kind: "subject", name: "ci" }, groups: ["robots"] });
  });

  it("expires no later than the requesting key, and reports when", async () => {
    const expiresAt = Math.floor(Date.now() / 1000) * 1000 + 700_000;
    shared.keys.set("short", accessKey({ id: "short", uid: "short-uid", expiresAt }));
    const { body } = await ask(shared, { credentialId: "short" });
    expect(Date.parse(body.status.expirationTimestamp)).toBe(expiresAt);
  });

  it.each([
    [{}, []],
    [{ certificateTTL: 600 }, []],
    [{ certificateTTL: 86_400 }, ["the token expires earlier than requested: see status.expirationTimestamp"]],
    [
      { certificateTTL: 86_400, role: "view" },
      ["the token expires earlier than requested: see status.expirationTimestamp"],
    ],
  ])("with %j and a key of 700 seconds, warns only of a TTL that the request named", async (spec, warnings) => {
    const expiresAt = Math.floor(Date.now() / 1000) * 1000 + 700_000;
    shared.keys.set("short", accessKey({ id: "short", uid: "short-uid", expiresAt }));
    expect((await ask(shared, { credentialId: "short", spec })).warnings).toEqual(warnings);
  });
});

describe("spec.certificateTTL", () => {
  it.each([
    [undefined, 86_400],
    [0, undefined],
    [600, 600],
    [86_400, 86_400],
    [315_360_000, 315_360_000],
    [2_147_483_647, 2_147_483_647],
  ])("%s requests a lifetime of %s seconds", async (certificateTTL, ttl) => {
    const { status, body } = await ask(shared, { spec: certificateTTL === undefined ? {} : { certificateTTL } });
    expect(status).toBe(201);
    expect(shared.minted.at(-1)?.ttl).toBe(ttl);
    expect(body.status.expirationTimestamp === undefined).toBe(ttl === undefined);
  });

  // security book 56
  it.each([-1, -86_400, -2_147_483_648, 1, 599])(
    "%s is refused with 422 (security book 56)",
    async (certificateTTL) => {
      for (const clientCert of [false, true]) {
        const before = await countOf(shared);
        await expect(ask(shared, { spec: { certificateTTL, clientCert } })).rejects.toMatchObject({
          code: 422,
          reason: "Invalid",
          message: expect.stringContaining(
            `spec.certificateTTL: Invalid value: ${certificateTTL}: must be 0 for no limit`,
          ),
          details: { causes: [{ field: "spec.certificateTTL" }] },
        });
        expect(await countOf(shared)).toBe(before);
      }
    },
  );

  it.each([2_147_483_648, 1e21, 600.5, "600", true])(
    "%s is no 32-bit integer, and refused (security book 56)",
    async (certificateTTL) => {
      await expect(ask(shared, { spec: { certificateTTL } })).rejects.toMatchObject({
        message: expect.stringContaining("spec.certificateTTL"),
      });
    },
  );
});

describe("spec.server", () => {
  it.each([
    ["https://vc.example.com/", "https://vc.example.com"],
    ["VC.example.com:8443", "https://vc.example.com:8443"],
    ["http://10.0.0.1:8080/base/", "http://10.0.0.1:8080/base"],
  ])("%s is written as %s", async (server, written) => {
    const { body } = await ask(shared, { spec: { server } });
    expect(parse(body.status.kubeConfig).clusters[0].cluster.server).toBe(written);
  });

  it.each([
    "https://user:secret@example.com",
    "https://example.com\nusers: []",
    "javascript:alert(1)",
    "https://example.com/?a=b",
    "https://exa mple.com",
  ])("%j is refused with 422, and a password in it is not repeated (security book 57)", async (server) => {
    const refused = await ask(shared, { spec: { server } }).catch((error) => error);
    expect(refused).toMatchObject({ code: 422, details: { causes: [{ field: "spec.server" }] } });
    expect(refused.message).not.toContain("secret");
  });

  it("is never dialled (security book 31)", async () => {
    let connections = 0;
    const listener = createServer(() => connections++).listen(0, "127.0.0.1");
    await new Promise((resolve) => listener.once("listening", resolve));
    const { port } = listener.address() as { port: number };
    for (const clientCert of [false, true]) {
      expect((await ask(shared, { spec: { server: `https://127.0.0.1:${port}`, clientCert } })).status).toBe(201);
    }
    await new Promise((resolve) => listener.close(resolve));
    expect(connections).toBe(0);
  });
});

describe("permission for a kubeconfig", () => {
  const without =
    (denied: string) =>
    ({ verb, subresource }: AuthorizationAttributes) =>
      ({ verdict: `${verb}/${subresource}` === denied ? "no-opinion" : "allow", reason: "" }) as const;

  it("answers 403 without permission to use the instance, whether it exists or not, and makes no key", async () => {
    await withTenancy({ authorizer: { authorize: without("use/") } }, async (tenancy) => {
      for (const name of ["demo", "absent"]) {
        await expect(ask(tenancy, { name })).rejects.toMatchObject({
          code: 403,
          message: expect.stringMatching(
            /cannot create resource "virtualclusterinstances\/kubeconfig" .*: it needs the verb "use" on virtualclusterinstances/,
          ),
        });
      }
      expect(tenancy.minted).toEqual([]);
    });
  });

  it("a scoped key gets one for its own owner alone (security book 2)", async () => {
    const restrictions = { scope: undefined, ruleSets: [[]] };
    shared.keys.set("scoped", accessKey({ id: "scoped", restrictions, owner: { kind: "user", name: "bob" } }));
    await expect(ask(shared, { credentialId: "scoped" })).rejects.toMatchObject({ code: 403 });
    expect((await ask(shared, { credentialId: "scoped", user: userOf("bob") })).status).toBe(201);
  });

  it("answers 404 for an instance that does not exist", async () => {
    await expect(ask(shared, { name: "absent" })).rejects.toMatchObject({ code: 404 });
  });
});

describe("the request", () => {
  it.each([
    ["an empty object", {}],
    [
      "the web UI's body",
      { apiVersion: `${GROUP}/v1`, kind: "VirtualClusterInstanceKubeConfig", metadata: {}, spec: {} },
    ],
    ["the name alone", { metadata: { name: "demo" }, spec: {} }],
    ["a status, which is ignored", { spec: {}, status: { kubeConfig: "x" } }],
  ])("may be %s", async (_what, body) => {
    const answer = await ask(shared, { body });
    expect(answer.status).toBe(201);
    expect(answer.body.status.kubeConfig).toContain("kind: Config");
  });

  it("may be YAML", async () => {
    const headers = { "content-type": "application/yaml" };
    const answer = await ask(shared, { body: "spec:\n  clientCert: false\n", headers });
    expect(answer.status).toBe(201);
  });

  it("is only checked in a dry run: no key, no certificate, and a kubeconfig without a credential (security book 53)", async () => {
    const before = await countOf(shared);
    const minted = shared.minted.length;
    for (const clientCert of [false, true]) {
      const url = `${URL_OF()}?dryRun=All`;
      const answer = await shared.request({ method: "POST", url, user: alice, body: { spec: { clientCert } } });
      expect(answer.status).toBe(201);
      const { kubeConfig, ...rest } = answer.body.status;
      expect(parse(kubeConfig)).toMatchObject({
        clusters: [{ cluster: { server: expect.stringMatching(/^https:/) } }],
        users: [{ user: {} }],
      });
      expect(Object.keys(parse(kubeConfig).users[0].user)).toEqual([]);
      expect(rest).toEqual(
        clientCert
          ? { certificateSubject: { commonName: "alice@example.test", organizations: expect.any(Array) } }
          : {},
      );
    }
    expect(shared.minted.length).toBe(minted);
    expect(await countOf(shared)).toBe(before);
  });

  it.each([
    ["another name", { metadata: { name: "other" } }],
    ["another namespace", { metadata: { namespace: "p-other" } }],
    ["another kind", { apiVersion: `${GROUP}/v1`, kind: "Project" }],
  ])("is refused for %s", async (_what, body) => {
    const refused = await ask(shared, { body }).catch((error) => error);
    expect([400, 422]).toContain(refused.code);
  });
});

describe.each([
  ["says nothing of an ingress", {}],
  ["turns the ingress off", { template: { accessPoint: { ingress: { enabled: false } } } }],
])("a virtual cluster on the built-in cluster that %s", (_what, spec) => {
  it.each([true, false])("has an endpoint, the platform's own (certificate: %s)", async (clientCert) => {
    await withTenancy({}, async (tenancy) => {
      await tenancy.create("namespaces/p-default/virtualclusterinstances", { metadata: { name: "plain" }, spec });
      await tenancy.settled();
      const { body } = await ask(tenancy, { name: "plain", spec: { clientCert } });
      expect(parse(body.status.kubeConfig).clusters[0].cluster.server).toBe(
        `${PLATFORM_URL}/kubernetes/project/default/virtualcluster/plain`,
      );
    });
  });
});

it("answers 503 with its reason for virtual clusters whose cluster cannot be reached", async () => {
  await withTenancy({}, async (tenancy) => {
    await tenancy.create("clusters", { metadata: { name: "far" } });
    await tenancy.create("namespaces/p-default/virtualclusterinstances", {
      metadata: { name: "far" },
      spec: { clusterRef: { cluster: "far" } },
    });
    await tenancy.create("namespaces/p-default/virtualclusterinstances", {
      metadata: { name: "external" },
      spec: { external: true },
    });
    await tenancy.settled();
    for (const name of ["far", "external"]) {
      await expect(ask(tenancy, { name })).rejects.toMatchObject({
        code: 503,
        details: { causes: [{ reason: "NoConnectionInThisTest" }] },
      });
      expect(tenancy.lookup.virtualClusterInstance("p-default", name)?.status).toMatchObject({
        phase: "Pending",
        reason: "NoConnectionInThisTest",
      });
    }
  });
});

it("is refused with 409 while the virtual cluster is being deleted", async () => {
  await withTenancy({}, async (tenancy) => {
    const url = `/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances/demo`;
    const hold = { metadata: { finalizers: ["example.test/virtual-cluster", "example.com/hold"] } };
    const headers = { "content-type": "application/merge-patch+json" };
    await tenancy.request({ method: "PATCH", url, body: hold, headers });
    await tenancy.request({ method: "DELETE", url });
    await expect(ask(tenancy)).rejects.toMatchObject({ code: 409 });
  });
});
