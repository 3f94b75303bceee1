// References to Secrets, namespaces of projects, and what a status drives.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../testing/running-platform.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const JSON_TYPE = { "content-type": "application/json" };
const MERGE = { "content-type": "application/merge-patch+json" };
const APPLY = { "content-type": "application/apply-patch+yaml" };

let platform: RunningPlatform;
let writer: string;

beforeAll(async () => {
  platform = await startPlatform();
  await platform.create("projects", { metadata: { name: "shop" }, spec: {} });
  await platform.create("/api/v1/namespaces", { metadata: { name: "wires" } });
  for (const namespace of ["wires", "p-shop"])
    for (const name of ["own", "foreign"])
      await platform.create(`/api/v1/namespaces/${namespace}/secrets`, {
        metadata: { name },
        stringData: { config: "x" },
      });
  await platform.create("users", { metadata: { name: "wirer" }, spec: {} });
  await platform.create(`${RBAC}/clusterroles`, {
    metadata: { name: "wirer" },
    rules: [
      { verbs: ["*"], apiGroups: ["management.postern"], resources: ["clusters", "clusters/status"] },
      { verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: ["own"] },
    ],
  });
  await platform.create(`${RBAC}/clusterrolebindings`, {
    metadata: { name: "wirer" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "wirer" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "wirer" }],
  });
  writer = (await platform.create("ownedaccesskeys", { metadata: { name: "wirer" }, spec: { user: "wirer" } })).spec
    .key;
});
afterAll(() => platform?.[Symbol.asyncDispose]());

const send = (method: string, path: string, body?: object, headers: object = JSON_TYPE, key?: string) =>
  platform.send({
    method,
    path,
    headers: headers as Record<string, string>,
    body: body === undefined ? undefined : JSON.stringify(body),
    ...(key === undefined ? {} : { key }),
  });

describe("spec.kubeConfigRef of a Cluster", () => {
  const cluster = (name: string, secretName: string, more: object = {}) => ({
    apiVersion: "management.postern/v1",
    kind: "Cluster",
    metadata: { name },
    spec: { kubeConfigRef: { secretNamespace: "wires", secretName, ...more } },
  });
  const as = (method: string, path: string, body: object, headers: object = JSON_TYPE) =>
    send(method, path, body, headers, writer);

  it("names only a Secret that its writer may get (create, apply, dry run, PUT, PATCH)", async () => {
    expect((await as("POST", "clusters", cluster("a", "foreign"))).status).toBe(403);
    expect((await as("POST", "clusters?dryRun=All", cluster("a", "foreign"))).status).toBe(403);
    expect((await as("PATCH", "clusters/a?fieldManager=x", cluster("a", "foreign"), APPLY)).status).toBe(403);
    expect((await as("POST", "clusters", cluster("a", "missing"))).status).toBe(403);
    const made = await as("POST", "clusters", cluster("a", "own"));
    expect(made.status).toBe(201);
    const { resourceVersion: _, ...metadata } = made.body.metadata;
    const changed = { ...made.body, metadata, spec: { ...made.body.spec, ...cluster("a", "foreign").spec } };
    expect((await as("PUT", "clusters/a", changed)).status).toBe(403);
    expect(
      (await as("PATCH", "clusters/a", { spec: { kubeConfigRef: { secretName: "foreign" } } }, MERGE)).status,
    ).toBe(403);
    expect((await as("PATCH", "clusters/a", { spec: { displayName: "A" } }, MERGE)).status).toBe(200);
    const status = await as("PUT", "clusters/a/status", changed);
    expect([status.status, (await platform.send({ path: "clusters/a" })).body.spec.kubeConfigRef.secretName]).toEqual([
      200,
      "own",
    ]);
  });

  it("follows the default of the namespace, and the key", async () => {
    const open = { spec: { managementNamespace: "wires", kubeConfigRef: { secretName: "own" } } };
    expect((await as("POST", "clusters", { ...cluster("b", ""), ...open })).status).toBe(201);
    const moved = { spec: { managementNamespace: "default", kubeConfigRef: { secretName: "foreign" } } };
    expect((await as("PATCH", "clusters/b", moved, MERGE)).status).toBe(403);
  });

  it("names a Secret of a project only if its writer may write that Secret as well", async () => {
    const body = cluster("c", "own", { secretNamespace: "p-shop" });
    const byDefault = { ...body, spec: { managementNamespace: "p-shop", kubeConfigRef: { secretName: "own" } } };
    expect((await as("POST", "clusters", body)).status).toBe(403);
    expect((await as("POST", "clusters", byDefault)).status).toBe(403);
    expect((await as("PATCH", "clusters/b", { spec: { managementNamespace: "p-shop" } }, MERGE)).status).toBe(403);
    expect((await send("POST", "clusters", byDefault)).status).toBe(201);
  });

  describe("to a Secret that was deleted and created again", () => {
    const KEY = "postern/kubeconfig-secret-uid";
    const ofProject = (name: string) => cluster(name, "moving", { secretNamespace: "p-shop" });
    const SECRETS = "/api/v1/namespaces/p-shop/secrets";
    const recordOf = async (name: string): Promise<string | undefined> =>
      (await platform.send({ path: `clusters/${name}` })).body.metadata.annotations?.[KEY];
    const make = async (): Promise<string> =>
      (await platform.create(SECRETS, { metadata: { name: "moving" }, stringData: { config: "x" } })).metadata.uid;
    const again = async (): Promise<string> => {
      await send("DELETE", `${SECRETS}/moving`);
      return await make();
    };
    const annotate = (name: string, value: string | null) =>
      send("PATCH", `clusters/${name}`, { metadata: { annotations: { [KEY]: value } } }, MERGE);

    it("keeps the first one, until somebody who may read it writes the reference again", async () => {
      const first = await make();
      const claimed = { ...ofProject("d"), metadata: { name: "d", annotations: { [KEY]: "chosen" } } };
      const { body } = await send("POST", "clusters", claimed);
      expect([body.metadata.annotations[KEY], await recordOf("d")]).toEqual([first, first]);
      const second = await again();
      // Writes that do not mean the reference: a patch, the manifest applied again, a status, by any writer.
      await send("PATCH", "clusters/d", { spec: { displayName: "D" } }, MERGE);
      await send("PATCH", "clusters/d?fieldManager=x&force=true", ofProject("d"), APPLY);
      await send("PUT", "clusters/d/status", { ...body, metadata: { name: "d", annotations: { [KEY]: second } } });
      await as("PATCH", "clusters/d/status", { metadata: { annotations: { [KEY]: second } } }, MERGE);
      expect(await recordOf("d")).toBe(first);
      // A writer who may not read the Secret claims nothing, and replaces a manifest as before.
      expect((await as("PATCH", "clusters/d", { metadata: { annotations: { [KEY]: second } } }, MERGE)).status).toBe(
        403,
      );
      expect((await as("PATCH", "clusters/d", { metadata: { annotations: { [KEY]: "" } } }, MERGE)).status).toBe(403);
      expect((await as("PUT", "clusters/d", ofProject("d"))).status).toBe(200);
      expect(await recordOf("d")).toBe(first);
      expect((await annotate("d", "")).status).toBe(200);
      expect(await recordOf("d")).toBe(second);
      const third = await again();
      expect((await send("PUT", "clusters/d", ofProject("d"))).status).toBe(200);
      expect(await recordOf("d")).toBe(third);
      const fourth = await again();
      expect((await annotate("d", null)).status).toBe(200);
      expect(await recordOf("d")).toBe(fourth);
      await send("PATCH", "clusters/d", { spec: { kubeConfigRef: null } }, MERGE);
      expect(await recordOf("d")).toBeUndefined();
      await send("DELETE", `${SECRETS}/moving`);
    });

    it("records nothing for one that does not exist yet, so that nobody else creates it", async () => {
      expect((await send("POST", "clusters", ofProject("e"))).status).toBe(201);
      expect(await recordOf("e")).toBeUndefined();
      const uid = await make();
      expect((await annotate("e", "")).status).toBe(200);
      expect(await recordOf("e")).toBe(uid);
    });
  });
});

describe("the content of a Secret that a Cluster uses, in the namespace of a project", () => {
  const SECRETS = "/api/v1/namespaces/p-shop/secrets";
  const PATH = `${SECRETS}/wired`;
  let member: string;
  const as = (method: string, path: string, body?: object, headers: object = MERGE) =>
    send(method, path, body, headers, member);
  const contentOf = async (name = "wired"): Promise<string> =>
    Buffer.from((await platform.send({ path: `${SECRETS}/${name}` })).body.data.config, "base64").toString();
  const mine = { stringData: { config: "mine" } };
  const encoded = { data: { config: Buffer.from("mine").toString("base64") } };
  beforeAll(async () => {
    await platform.create("users", { metadata: { name: "member" }, spec: {} });
    const members = [{ kind: "User", name: "member", clusterRole: "postern:project-admin" }];
    await send("PATCH", "projects/shop", { spec: { members } }, MERGE);
    const key = { metadata: { name: "member" }, spec: { user: "member" } };
    member = (await platform.create("ownedaccesskeys", key)).spec.key;
    for (const name of ["wired", "free"])
      await platform.create(SECRETS, { metadata: { name }, stringData: { config: "x" } });
    await platform.create("clusters", {
      metadata: { name: "wired" },
      spec: { managementNamespace: "p-shop", kubeConfigRef: { secretName: "wired" } },
    });
    await platform.until({ path: PATH, key: member }, ({ status }) => status === 200);
  });

  it.each<readonly [string, string, object, object]>([
    ["PATCH", PATH, mine, MERGE],
    ["PATCH", PATH, encoded, MERGE],
    ["PATCH", PATH, { data: { config: null } }, MERGE],
    ["PATCH", PATH, { data: { other: "bWluZQ==" } }, MERGE],
    ["PATCH", `${PATH}?dryRun=All`, mine, MERGE],
    ["PATCH", PATH, mine, { "content-type": "application/strategic-merge-patch+json" }],
    [
      ...(["PATCH", PATH, [{ op: "replace", path: "/data/config", value: "bWluZQ==" }]] as const),
      { "content-type": "application/json-patch+json" },
    ],
    [
      ...(["PATCH", `${PATH}?fieldManager=x&force=true`] as const),
      { apiVersion: "v1", kind: "Secret", metadata: { name: "wired" }, ...mine },
      APPLY,
    ],
    [
      "PUT",
      PATH,
      { apiVersion: "v1", kind: "Secret", metadata: { name: "wired" }, type: "Opaque", ...mine },
      JSON_TYPE,
    ],
    ["PUT", `/kubernetes/management${PATH}/`, { metadata: { name: "wired" }, type: "Opaque", ...mine }, JSON_TYPE],
  ])("is not changed by members of the project: %s %s %j", async (method, path, body, headers) => {
    const { status, body: answer } = await as(method, path, body, headers);
    expect([status, answer.message]).toEqual([403, expect.stringContaining('the cluster "wired" connects with it')]);
    expect(await contentOf()).toBe("x");
  });

  it("is changed by users who may update the cluster", async () => {
    expect((await send("PATCH", PATH, { stringData: { config: "rotated" } }, MERGE)).status).toBe(200);
    expect(await contentOf()).toBe("rotated");
    await platform.create(`${RBAC}/clusterroles`, {
      metadata: { name: "wired-updater" },
      rules: [
        { verbs: ["update"], apiGroups: ["management.postern"], resources: ["clusters"], resourceNames: ["wired"] },
      ],
    });
    await platform.create(`${RBAC}/clusterrolebindings`, {
      metadata: { name: "wired-updater" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "wired-updater" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "member" }],
    });
    expect((await as("PATCH", PATH, mine)).status).toBe(200);
    expect((await send("DELETE", `${RBAC}/clusterrolebindings/wired-updater`)).status).toBe(200);
    expect((await as("PATCH", PATH, { stringData: { config: "again" } })).status).toBe(403);
    expect(await contentOf()).toBe("mine");
  });

  it("is checked for the content alone, of Secrets in use alone", async () => {
    expect((await as("PATCH", PATH, { metadata: { labels: { team: "blues" } } })).status).toBe(200);
    expect((await as("PATCH", `${SECRETS}/free`, mine)).status).toBe(200);
    // From the moment on that a cluster names it, whatever its writer, and until it no longer does.
    await send("PATCH", "clusters/wired", { spec: { kubeConfigRef: { secretName: "free" } } }, MERGE);
    expect((await as("PATCH", `${SECRETS}/free`, { stringData: { config: "more" } })).status).toBe(403);
    expect((await as("PATCH", PATH, { stringData: { config: "theirs" } })).status).toBe(200);
    expect((await send("DELETE", "clusters/wired")).status).toBe(200);
    expect((await as("PATCH", `${SECRETS}/free`, { stringData: { config: "more" } })).status).toBe(200);
  });
});

describe("the namespace of a project", () => {
  const path = "/api/v1/namespaces/p-shop";

  it("is deleted by its project alone (DELETE, finalize, owner references, label, annotation)", async () => {
    expect((await send("DELETE", path)).status).toBe(403);
    expect((await send("DELETE", `${path}?dryRun=All`)).status).toBe(403);
    expect((await send("DELETE", path, { gracePeriodSeconds: 0, propagationPolicy: "Orphan" })).status).toBe(403);
    expect((await send("DELETE", "/api/v1/namespaces")).status).toBe(405);
    const { body } = await platform.send({ path });
    expect((await send("PUT", `${path}/finalize`, { ...body, spec: {} })).status).toBe(403);
    const owner = { apiVersion: "v1", kind: "Namespace", name: "gone", uid: "00000000-0000-4000-8000-000000000000" };
    expect((await send("PATCH", path, { metadata: { ownerReferences: [owner] } }, MERGE)).status).toBe(403);
    expect((await send("PATCH", path, { metadata: { labels: { "postern/project": null } } }, MERGE)).status).toBe(403);
    const other = { metadata: { annotations: { "postern/project-uid": "other" } } };
    expect((await send("PATCH", path, other, MERGE)).status).toBe(403);
    expect((await send("PATCH", `${path}/status`, other, MERGE)).status).not.toBe(500);
    const after = (await platform.send({ path })).body.metadata;
    expect([after.deletionTimestamp, after.annotations]).toEqual([undefined, body.metadata.annotations]);
    expect((await send("PATCH", path, { metadata: { labels: { team: "blues" } } }, MERGE)).status).toBe(200);
  });

  it("goes with its project", async () => {
    await platform.create("projects", { metadata: { name: "brief" }, spec: {} });
    expect((await send("DELETE", "projects/brief")).status).toBe(200);
    await expect.poll(async () => (await platform.send({ path: "/api/v1/namespaces/p-brief" })).status).toBe(404);
    expect((await send("DELETE", "/api/v1/namespaces/wires")).status).toBe(200);
  });
});

describe("the status of a virtual cluster", () => {
  it("holds what the server made of the template, whatever a client writes", async () => {
    const objects = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;
    await platform.create("virtualclustertemplates", {
      metadata: { name: "web" },
      spec: { template: { objects: objects("wanted") } },
    });
    const list = "namespaces/p-default/virtualclusterinstances";
    await platform.create(list, {
      metadata: { name: "once" },
      spec: { templateRef: { name: "web", syncOnce: true } },
    });
    const path = `${list}/once`;
    const read = async () => (await platform.send({ path })).body;
    await expect.poll(async () => (await read()).status.deployHash).toBeDefined();
    const before = await read();
    const evil = { virtualCluster: { objects: objects("evil"), workloads: "stored" }, deployHash: "0" };
    const condition = {
      type: "ObjectsApplied",
      status: "False",
      reason: "X",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    for (const [method, body, headers] of [
      [
        "PUT",
        {
          ...before,
          metadata: { ...before.metadata, resourceVersion: undefined },
          status: { ...before.status, ...evil },
        },
        JSON_TYPE,
      ],
      ["PATCH", { status: evil }, MERGE],
      ["PATCH", { status: { conditions: [condition] } }, MERGE],
      ["PATCH", { apiVersion: before.apiVersion, kind: before.kind, metadata: { name: "once" }, status: evil }, APPLY],
    ] as const) {
      const query = headers === APPLY ? "?fieldManager=x&force=true" : "";
      await send(method, `${path}/status${query}`, body, headers);
      await send(method, `${path}${query}`, body, headers);
      const { virtualCluster, deployHash } = (await read()).status;
      expect([virtualCluster, deployHash]).toEqual([before.status.virtualCluster, before.status.deployHash]);
    }
    const inside = "/kubernetes/project/default/virtualcluster/once/api/v1/namespaces/default/configmaps";
    await send("PATCH", path, { metadata: { labels: { again: "1" } } }, MERGE);
    expect((await platform.send({ path: `${inside}/wanted` })).status).toBe(200);
    expect((await platform.send({ path: `${inside}/evil` })).status).toBe(404);
  });
});
