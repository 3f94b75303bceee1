// A space in a connected cluster over real TLS: its namespace comes and goes with it, and nothing else is within reach.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { expect, onTestFinished, test } from "vitest";
import { createAddressRules } from "../../../foundation/upstream/address-rules.ts";
import { createClusterConnections } from "./cluster-connections.ts";
import { createSecretSource } from "./cluster-source.ts";
import { createSpaceBackend } from "./space-backend.ts";
import { serveCluster } from "./testing/serve-cluster.ts";

const { signal } = new AbortController();
const { clock, scheduler } = systemRuntime;
const names = {
  name: "example",
  insideRoleGroup: (role: string) => `example:role:${role}`,
  key: (suffix: string) => `example.com/${suffix}`,
};
const alice = { name: "alice", groups: ["example:role:admin"] };

async function createHost() {
  const cluster = await serveCluster();
  const connections = createClusterConnections({ scheduler, addresses: createAddressRules(), userAgent: "example" });
  onTestFinished(() => connections[Symbol.dispose]());
  const data = { config: Buffer.from(cluster.kubeConfig).toString("base64") };
  const secret: KubeObject = { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data };
  const host = createSecretSource({ connections, key: "host", find: () => ({ object: secret }) });
  const space = (uid: string) => createSpaceBackend({ host, namespace: "team-a", uid, names, clock, scheduler });
  return { cluster, space };
}

test("the namespace of a space is made, kept as it should be, and removed", async () => {
  const { cluster, space } = await createHost();
  const backend = space("one");
  expect(await backend.health(signal)).toMatchObject({ ready: false, reason: "NotProvisioned" });
  await backend.provision({ labels: { team: "a" } }, signal);
  await backend.provision({ labels: { team: "b" }, annotations: { note: "moved" } }, signal);
  expect(await cluster.admin("GET", "/api/v1/namespaces/team-a")).toMatchObject({
    metadata: { labels: { team: "b", "example.com/space-instance-uid": "one" }, annotations: { note: "moved" } },
  });
  expect(await backend.health(signal)).toMatchObject({ ready: true });
  await expect.poll(() => backend.remove(signal)).toBe(true);
  await expect(cluster.admin("GET", "/api/v1/namespaces/team-a")).rejects.toMatchObject({ code: 404 });
  expect(await backend.remove(signal)).toBe(true);
});

test("the labels of a space do not give its namespace to another space (security book 10)", async () => {
  const { cluster, space } = await createHost();
  const labels = { "example.com/space-instance-uid": "two", "app.kubernetes.io/managed-by": "tenant" };
  const own = { "example.com/space-instance-uid": "one", "app.kubernetes.io/managed-by": "example" };
  await space("one").provision({ labels }, signal);
  for (const tier of ["gold", "silver"]) {
    await space("one").provision({ labels: { ...labels, tier } }, signal);
    expect(await cluster.admin("GET", "/api/v1/namespaces/team-a")).toMatchObject({
      metadata: { labels: { ...own, tier } },
    });
  }
});

test("another owner's namespace is neither used nor removed", async () => {
  const { cluster, space } = await createHost();
  await space("one").provision({}, signal);
  await expect(space("two").provision({}, signal)).rejects.toMatchObject({ code: 409 });
  expect(await space("two").remove(signal)).toBe(true);
  expect(await cluster.admin("GET", "/api/v1/namespaces/team-a")).toMatchObject({ kind: "Namespace" });
  const reach = space("two").proxy(createTestContext({ url: "/api/v1/namespaces/team-a/secrets" }), alice);
  await expect(reach).rejects.toMatchObject({ code: 409 });
  await expect(space("two").bindRoles(["admin"], signal)).rejects.toMatchObject({ code: 409 });
});

test("callers have their roles in the namespace, and no other access", async () => {
  const { space } = await createHost();
  const backend = space("one");
  await backend.provision({}, signal);
  const ask = async (url: string) => (await backend.proxy(createTestContext({ url }), alice)).status;
  expect(await ask("/api/v1/namespaces/team-a/configmaps")).toBe(403);
  await backend.bindRoles(["admin"], signal);
  await expect.poll(() => ask("/api/v1/namespaces/team-a/configmaps")).toBe(200);
  await backend.bindRoles([], signal);
  await expect.poll(() => ask("/api/v1/namespaces/team-a/configmaps")).toBe(403);
  await expect(ask("/api/v1/namespaces/default/configmaps")).rejects.toMatchObject({ code: 403 });
});
