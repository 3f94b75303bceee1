// ClusterProfiles on a whole server: what they are made of, who sees them, and that nothing writes them.

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../../testing/running-platform.ts";

const PROFILES = "/apis/multicluster.x-k8s.io/v1alpha1";
const IN_SHOP = `${PROFILES}/namespaces/p-shop/clusterprofiles`;
const INSTANCES = "namespaces/p-shop/virtualclusterinstances";
const MERGE = { "content-type": "application/merge-patch+json" };

let platform: RunningPlatform;
let keys: { readonly [user: string]: string };

const create = async (path: string, body: object, key?: string) => {
  const answer = await platform.send({ path, body, key });
  expect([answer.status, answer.text]).toEqual([201, expect.anything()]);
  return answer.body;
};
const names = ({ body }: { readonly body: any }): readonly string[] =>
  body.items.map(({ metadata }: any) => `${metadata.namespace}/${metadata.name}`);

beforeAll(async () => {
  platform = await startPlatform();
  const of: { [user: string]: string } = {};
  for (const name of ["vera", "olaf", "nora"]) {
    await create("users", { metadata: { name } });
    of[name] = (await create("ownedaccesskeys", { metadata: { name }, spec: { user: name } })).spec.key;
  }
  const members = [{ kind: "User", name: "vera", clusterRole: "postern:project-viewer" }];
  await create("projects", { metadata: { name: "shop" }, spec: { allowedClusters: [{ name: "*" }], members } });
  await vi.waitFor(async () => expect((await platform.send({ path: "/api/v1/namespaces/p-shop" })).status).toBe(200));
  const labels = { env: "dev", "x-k8s.io/cluster-manager": "another" };
  await create(INSTANCES, {
    metadata: { name: "web", labels, annotations: { note: "private" } },
    spec: { displayName: "The web", owner: { user: "olaf" } },
  });
  await create(INSTANCES, { metadata: { name: "db" } });
  const limited = { user: "vera", scope: { virtualClusters: [{ project: "shop", virtualCluster: "db" }] } };
  of["limited"] = (await create("ownedaccesskeys", { metadata: { name: "limited" }, spec: limited })).spec.key;
  const byLabels = {
    user: "vera",
    scope: { virtualClusters: [{ project: "shop", selector: { matchLabels: { env: "dev" } } }] },
  };
  of["labelled"] = (await create("ownedaccesskeys", { metadata: { name: "labelled" }, spec: byLabels })).spec.key;
  keys = of;
});
afterAll(() => platform[Symbol.asyncDispose]());

describe("a ClusterProfile", () => {
  it("is made of its virtual cluster, without a credential", async () => {
    const profile = async () => (await platform.send({ path: `${IN_SHOP}/web` })).body;
    await expect.poll(async () => (await profile()).status.conditions[0].status).toBe("True");
    const instance = (await platform.send({ path: `${INSTANCES}/web` })).body;
    const { uid, creationTimestamp, resourceVersion, generation } = instance.metadata;
    const shown = await profile();
    expect(shown).toEqual({
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ClusterProfile",
      metadata: {
        ...{ name: "web", namespace: "p-shop", uid, creationTimestamp, resourceVersion, generation },
        labels: { env: "dev", "x-k8s.io/cluster-manager": "postern" },
      },
      spec: { displayName: "The web", clusterManager: { name: "postern" } },
      status: {
        conditions: [
          expect.objectContaining({ type: "ControlPlaneHealthy", status: "True", reason: "Reached" }),
          {
            type: "Joined",
            status: "True",
            lastTransitionTime: creationTimestamp,
            reason: "Created",
            message: "the virtual cluster exists",
          },
        ],
        version: { kubernetes: instance.status.kubernetesVersion },
        properties: [{ name: "cluster.clusterset.k8s.io", value: uid }],
        accessProviders: [{ name: "postern", cluster: expect.anything() }],
      },
    });
    const [{ cluster }] = shown.status.accessProviders;
    expect(cluster).toEqual({
      server: expect.stringMatching(/^https:\/\/.+\/kubernetes\/project\/shop\/virtualcluster\/web$/),
      "certificate-authority-data": expect.any(String),
      extensions: [
        {
          name: "client.authentication.k8s.io/exec",
          extension: { project: "shop", namespace: "p-shop", virtualCluster: "web" },
        },
      ],
    });
    const issued = await platform.send({ path: `${INSTANCES}/web/kubeconfig`, body: {} });
    const { kubeConfig } = issued.body.status;
    expect(kubeConfig).toContain(cluster.server);
    expect(kubeConfig).toContain(cluster["certificate-authority-data"]);
  });

  it("is valid by the definition of its authors, with its status", async () => {
    const web = "/kubernetes/project/shop/virtualcluster/web";
    // Source: sigs.k8s.io/cluster-inventory-api/config/crd/bases/multicluster.x-k8s.io_clusterprofiles.yaml, without descriptions.
    const definition = JSON.parse(await readFile(new URL("testing/upstream-definition.json", import.meta.url), "utf8"));
    await create(`${web}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, definition);
    const copies = `${web}${PROFILES}/namespaces/default/clusterprofiles`;
    await vi.waitFor(async () => expect((await platform.send({ path: copies })).status).toBe(200));
    for (const served of (await platform.send({ path: IN_SHOP })).body.items) {
      const { name, labels } = served.metadata;
      const object = { ...served, apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile" };
      const copy = await create(`${copies}?fieldValidation=Strict`, { ...object, metadata: { name, labels } });
      const path = `${copies}/${name}/status?fieldValidation=Strict`;
      const body = { ...object, metadata: copy.metadata };
      const written = await platform.send({ method: "PUT", path, body });
      expect([written.status, written.body.spec, written.body.status]).toEqual([200, served.spec, served.status]);
    }
  });

  it("is selected by the labels of its virtual cluster, and by the cluster manager", async () => {
    const selected = async (selector: string) =>
      names(await platform.send({ path: `${IN_SHOP}?labelSelector=${encodeURIComponent(selector)}` }));
    expect(await selected("x-k8s.io/cluster-manager=postern")).toEqual(["p-shop/db", "p-shop/web"]);
    expect(await selected("env=dev")).toEqual(["p-shop/web"]);
    expect(await selected("x-k8s.io/cluster-manager=another")).toEqual([]);
  });

  it.each([
    ["POST", IN_SHOP],
    ["PUT", `${IN_SHOP}/web`],
    ["PATCH", `${IN_SHOP}/web`],
    ["DELETE", `${IN_SHOP}/web`],
    ["DELETE", IN_SHOP],
    ["PATCH", `${IN_SHOP}/web/status`],
  ])("is not written by %s %s", async (method, path) => {
    const body = {
      apiVersion: "multicluster.x-k8s.io/v1alpha1",
      kind: "ClusterProfile",
      metadata: { name: "web" },
      spec: { clusterManager: { name: "postern" } },
    };
    const headers = method === "PATCH" ? { headers: MERGE } : {};
    const { status } = await platform.send({ method, path, body, ...headers });
    expect([404, 405]).toContain(status);
    expect((await platform.send({ path: `${INSTANCES}/web` })).status).toBe(200);
  });
});

describe("a caller", () => {
  it.each([
    ["vera", ["p-shop/db", "p-shop/web"]],
    ["olaf", ["p-shop/web"]],
    ["nora", []],
    ["limited", ["p-shop/db"]],
    ["labelled", ["p-shop/web"]],
  ])("with the key of %s sees the virtual clusters that it may read", async (user, seen) => {
    const key = keys[user];
    for (const path of [`${PROFILES}/clusterprofiles`, IN_SHOP])
      expect(names(await platform.send({ path, key }))).toEqual(seen);
    for (const name of ["db", "web"]) {
      const { status } = await platform.send({ path: `${IN_SHOP}/${name}`, key });
      expect([name, status]).toEqual([name, seen.includes(`p-shop/${name}`) ? 200 : 403]);
    }
  });

  it("reads them by a role that names them alone, and not the virtual clusters", async () => {
    const rules = [{ apiGroups: ["multicluster.x-k8s.io"], resources: ["clusterprofiles"], verbs: ["get", "list"] }];
    await create("/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name: "inventory" }, rules });
    await create("/apis/rbac.authorization.k8s.io/v1/namespaces/p-shop/rolebindings", {
      metadata: { name: "nora" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "inventory" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "postern:user:nora" }],
    });
    const key = keys["nora"];
    await expect.poll(async () => names(await platform.send({ path: IN_SHOP, key }))).toHaveLength(2);
    expect((await platform.send({ path: `${IN_SHOP}/db`, key })).status).toBe(200);
    expect((await platform.send({ path: `${INSTANCES}/db`, key })).status).toBe(403);
    expect((await platform.send({ path: INSTANCES, key })).body.items).toEqual([]);
  });
});

describe("a watch", () => {
  type Line = { readonly type: string; readonly object: any };
  const linesOf = (text: string): readonly Line[] =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));

  it("has the events of the virtual clusters, at their resource versions, until rights are taken away", async () => {
    const path = `${IN_SHOP}?watch=1`;
    const all = await platform.open({ path });
    const own = await platform.open({ path, key: keys["olaf"] });
    await create(INSTANCES, { metadata: { name: "new" }, spec: { owner: { user: "olaf" } } });
    await expect.poll(() => linesOf(own.text()).map(({ type }) => type)).toContain("ADDED");
    const change = { method: "PATCH", path: `${INSTANCES}/new`, headers: MERGE };
    const { body: changed } = await platform.send({ ...change, body: { metadata: { labels: { stage: "two" } } } });
    const events = (stream: { text(): string }, name = "new") =>
      linesOf(stream.text()).filter(({ object }) => object.metadata?.name === name);
    await expect
      .poll(() => events(own).filter(({ object }) => object.metadata.labels["stage"] === "two").length)
      .toBeGreaterThan(0);
    const seen = events(own).find(({ object }) => object.metadata.labels["stage"] === "two");
    expect(seen?.object.metadata.resourceVersion).toBe(changed.metadata.resourceVersion);
    expect(seen?.object.status.accessProviders).toHaveLength(1);
    await platform.send({ ...change, body: { spec: { owner: { user: "nora" } } } });
    await expect.poll(() => events(own).at(-1)?.type).toBe("DELETED");
    await platform.send({ method: "DELETE", path: `${INSTANCES}/new` });
    await expect.poll(() => events(all).at(-1)?.type, { timeout: 20_000 }).toBe("DELETED");
    // Nothing of what followed was shown to the former owner.
    const after = events(own).slice(events(own).findIndex(({ type }) => type === "DELETED"));
    expect(after).toHaveLength(1);
    expect(events(own, "db")).toEqual([]);
  });
});
