// Objects of the platform lead to their own clusters and namespaces, and never to those of others.

import type { Cluster } from "@postern/api/cluster";
import { createPlatformNames } from "@postern/api/platform-names";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "../../../foundation/upstream/address-rules.ts";
import type { ConnectionSums } from "../../../foundation/upstream/connection-sums.ts";
import type { ResolveHost } from "../../../foundation/upstream/resolve-host.ts";
import type { Dial } from "../../../foundation/upstream/upstream-dialer.ts";
import { unreachableError } from "../../../foundation/upstream/upstream-failure.ts";
import type { VirtualClusterBackend } from "../virtual-cluster-backend.ts";
import { createClusterConnections } from "./cluster-connections.ts";
import { createKubernetesBackends } from "./kubernetes-backends.ts";
import { serveCluster } from "./testing/serve-cluster.ts";
import { createTunnelConnections } from "./tunnel-source.ts";

const { signal } = new AbortController();
const names = createPlatformNames({ domain: "example.com", name: "example", projectNamespacePrefix: "p-" });
const alice = { name: "alice", groups: ["example:role:edit"] };

/** Notes whose connections are counted. */
function noteCounted() {
  const counted: (string | undefined)[] = [];
  const sums: ConnectionSums = {
    counting: (dial, namespace) => (callback) => {
      counted.push(namespace);
      return dial(callback);
    },
  };
  return { counted, sums };
}

function connections(refuse: readonly string[], sums: ConnectionSums) {
  const { scheduler } = systemRuntime;
  const addresses = createAddressRules({ refuse });
  const resolve: ResolveHost = (_host, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]);
  const made = createClusterConnections({ scheduler, addresses, resolve, sums, userAgent: "example" });
  onTestFinished(() => made[Symbol.dispose]());
  return made;
}

const secretOf = (namespace: string, name: string, kubeConfig: string, labels = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace, name, labels },
  data: { config: Buffer.from(kubeConfig).toString("base64") },
});

async function createPlatform({ refuse = LOCAL_TO_A_LINK }: { readonly refuse?: readonly string[] } = {}) {
  const host = await serveCluster();
  const secrets = new Map([["system/host-credentials", secretOf("system", "host-credentials", host.kubeConfig)]]);
  const clusters = new Map<string, Cluster>();
  const connect = (uid: string): Cluster => {
    const cluster: Cluster = {
      apiVersion: "management.example.com/v1",
      kind: "Cluster",
      metadata: { name: "host", uid },
      spec: { managementNamespace: "system", kubeConfigRef: { secretName: "host-credentials" } },
    };
    clusters.set("host", cluster);
    return cluster;
  };
  const cluster = connect("cluster-uid");
  const dialled: string[] = [];
  const instances: { current?: VirtualClusterInstance } = {};
  const { counted, sums } = noteCounted();
  const dialer = (uid: string): Dial => {
    return () => {
      dialled.push(uid);
      throw unreachableError({ reason: "AgentNotConnected", message: "the test has no agent" });
    };
  };
  const tunnelled = createTunnelConnections(
    { dialer, of: () => [] },
    {
      scheduler: systemRuntime.scheduler,
      userAgent: "test",
      sums,
      addresses: createAddressRules(),
    },
  );
  onTestFinished(() => tunnelled[Symbol.dispose]());
  const backends = createKubernetesBackends({
    names,
    runtime: systemRuntime,
    lookup: { cluster: (name) => clusters.get(name), virtualClusterInstance: () => instances.current },
    secret: (namespace, name) => secrets.get(`${namespace}/${name}`),
    connected: connections(LOCAL_TO_A_LINK, sums),
    external: connections(refuse, sums),
    tunnelled,
    addresses: createAddressRules({ refuse, option: "--allow" }),
  });
  return { host, secrets, clusters, instances, connect, cluster, backends, dialled, counted };
}

const instance = (spec: VirtualClusterInstance["spec"] & object): VirtualClusterInstance => ({
  apiVersion: "management.example.com/v1",
  kind: "VirtualClusterInstance",
  metadata: { namespace: "p-default", name: "web", uid: "instance-uid" },
  spec,
});

const faultOf = async (health: Promise<object>): Promise<unknown> => ({ reason: "", ...(await health) }).reason;

describe("a connected cluster", () => {
  test("is reached by the kubeconfig that it refers to", async () => {
    const { backends, cluster } = await createPlatform();
    expect(await backends.ofCluster(cluster).health(signal)).toMatchObject({ ready: true });
    const context = createTestContext({ url: "/api/v1/namespaces/default/configmaps" });
    expect((await backends.ofCluster(cluster).proxy(context, alice)).status).toBe(200);
  });

  test("is not taken for a later one of its name", async () => {
    const { backends, cluster, connect } = await createPlatform();
    const before = backends.ofCluster(cluster);
    const later = connect("another-uid");
    expect(await faultOf(before.health(signal))).toBe("ClusterNotFound");
    expect(await backends.ofCluster(later).health(signal)).toMatchObject({ ready: true });
  });
});

describe("a cluster that an agent connects", () => {
  test("is reached through its tunnel alone, and by its kubeconfig again once its spec says so", async () => {
    const { backends, cluster, clusters, dialled, host } = await createPlatform();
    const { spec } = cluster;
    clusters.set("host", { ...cluster, spec: { ...spec, networkPeer: true } });
    const backend = backends.ofCluster(cluster);
    expect(await faultOf(backend.health(signal))).toBe("AgentNotConnected");
    expect(dialled).toContain("cluster-uid");
    expect(host.requests).toEqual([]);
    clusters.set("host", cluster);
    dialled.length = 0;
    expect(await backend.health(signal)).toMatchObject({ ready: true });
    expect(dialled).toEqual([]);
  });

  const connected = { conditions: [{ type: "Connected", status: "True", reason: "AgentConnected", message: "" }] };
  const asked = async (backend: VirtualClusterBackend): Promise<unknown> => {
    try {
      return await backend.proxy(createTestContext({ url: "/api/v1/namespaces/default/configmaps" }), alice);
    } catch (error) {
      return error;
    }
  };

  test("is waited for where another server has its tunnel, and not where none has", async () => {
    const { backends, cluster, clusters, instances, dialled } = await createPlatform();
    const spec = { ...cluster.spec, networkPeer: true };
    clusters.set("host", { ...cluster, spec });
    const outer = instance({ standalone: true, networkPeer: true });
    for (const backend of [backends.ofCluster(cluster), backends.ofVirtualCluster(outer)]) {
      dialled.length = 0;
      expect(await asked(backend)).toMatchObject({ code: 503, details: { causes: [{ reason: "AgentNotConnected" }] } });
      expect(await asked(backend)).not.toHaveProperty("details.retryAfterSeconds");
      expect(dialled).toHaveLength(2);
    }
    clusters.set("host", { ...cluster, spec, status: connected });
    instances.current = { ...outer, status: connected };
    for (const backend of [backends.ofCluster(cluster), backends.ofVirtualCluster(outer)]) {
      expect(await asked(backend)).toMatchObject({
        code: 503,
        details: { causes: [{ reason: "AgentNotConnected" }], retryAfterSeconds: 1 },
      });
    }
  });
});

describe("the Secret of a connected cluster", () => {
  const withUid = (namespace: string, kubeConfig: string, uid: string): KubeObject => {
    const secret = secretOf(namespace, "host-credentials", kubeConfig);
    return { ...secret, metadata: { ...secret.metadata, uid } };
  };

  test("is the one that the reference was written for, in the namespace of a project", async () => {
    const { backends, secrets, host, connect } = await createPlatform();
    const cluster = connect("cluster-uid");
    const backend = backends.ofCluster(cluster);
    Object.assign(cluster.spec ?? {}, { managementNamespace: "p-shop" });
    secrets.set("p-shop/host-credentials", withUid("p-shop", host.kubeConfig, "first"));
    const requests = host.requests.length;
    // Written by an earlier release, or before there was a Secret.
    expect(await faultOf(backend.health(signal))).toBe("KubeConfigReplaced");
    Object.assign(cluster.metadata, { annotations: { [names.key("kubeconfig-secret-uid")]: "first" } });
    secrets.set("p-shop/host-credentials", withUid("p-shop", host.kubeConfig, "second"));
    expect(await backend.health(signal)).toMatchObject({
      reason: "KubeConfigReplaced",
      message: expect.stringMatching(/"p-shop\/host-credentials".*kubectl annotate --overwrite clusters\/host /),
    });
    expect(host.requests.length).toBe(requests);
    // A restored backup has the same uids, and a change of the content is no other Secret.
    secrets.set("p-shop/host-credentials", withUid("p-shop", host.kubeConfig, "first"));
    expect(await backend.health(signal)).toMatchObject({ ready: true });
  });

  test("may be created again anywhere else", async () => {
    const { backends, secrets, host, connect } = await createPlatform();
    const cluster = connect("cluster-uid");
    Object.assign(cluster.metadata, { annotations: { [names.key("kubeconfig-secret-uid")]: "first" } });
    secrets.set("system/host-credentials", withUid("system", host.kubeConfig, "second"));
    expect(await backends.ofCluster(cluster).health(signal)).toMatchObject({ ready: true });
  });
});

describe("an external virtual cluster", () => {
  const external = instance({ external: true });

  test("is reached by the Secret of its name in the project", async () => {
    const { backends, secrets, host } = await createPlatform();
    expect(await faultOf(backends.ofVirtualCluster(external).health(signal))).toBe("KubeConfigNotFound");
    secrets.set("p-default/vc-web", secretOf("p-default", "vc-web", host.kubeConfig));
    expect(await backends.ofVirtualCluster(external).health(signal)).toMatchObject({ ready: true });
    backends.remove("instance-uid");
    expect(await backends.ofVirtualCluster(external).health(signal)).toMatchObject({ ready: true });
  });

  test("does not lead tenants into the platform's own network (security book 31)", async () => {
    const { backends, secrets, host } = await createPlatform({ refuse: [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS] });
    secrets.set("p-default/vc-web", secretOf("p-default", "vc-web", host.kubeConfig));
    expect(await faultOf(backends.ofVirtualCluster(external).health(signal))).toBe("AddressRefused");
    expect(host.requests).toEqual([]);
    expect(backends.addressWarnings(external)).toEqual([
      expect.stringMatching(/names 127\.0\.0\.1: its address is not allowed: .*the server's option --allow allows it/),
    ]);
  });

  test.each(["https://169.254.169.254", "https://[fe80::1]", "https://tenant.example.com"])(
    "is not advised for %s (security book 31)",
    async (server) => {
      const { backends, secrets, host } = await createPlatform({ refuse: [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS] });
      secrets.set("p-default/vc-web", secretOf("p-default", "vc-web", host.kubeConfig.replace(host.url, server)));
      expect(backends.addressWarnings(external).join()).not.toContain("--allow");
    },
  );
});

test.each([{}, { networkPeer: true }])("an external virtual cluster counts as its project's: %j", async (spec) => {
  const { backends, secrets, host, counted } = await createPlatform();
  secrets.set("p-default/vc-web", secretOf("p-default", "vc-web", host.kubeConfig));
  await backends.ofVirtualCluster(instance({ external: true, ...spec })).health(signal);
  expect(counted).toEqual(["p-default"]);
});

describe("a vcluster in a connected cluster", () => {
  async function withVcluster(namespace: string, name: string, labels = {}, isSpace = false) {
    const platform = await createPlatform();
    const { host, counted } = platform;
    if (isSpace) {
      const clusterRef = { cluster: "host", namespace };
      const metadata = { namespace: "p-default", name: "space", uid: "space-uid" };
      const kind = { apiVersion: "management.example.com/v1", kind: "SpaceInstance" };
      await platform.backends.ofSpace({ ...kind, metadata, spec: { clusterRef } }).provision({}, signal);
    } else if (namespace !== "default") {
      await host.admin("POST", "/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace },
      });
    }
    // By a name, as its own address would be taken for that of a port-forward.
    const kubeConfig = host.kubeConfig.replace(
      /server: .*:(\d+)\b.*/,
      'server: "https://localhost.example.com:$1"\n    tls-server-name: localhost',
    );
    const secret = secretOf(namespace, `vc-${name}`, kubeConfig, labels);
    await host.admin("POST", `/api/v1/namespaces/${namespace}/secrets`, secret);
    const clusterRef = { cluster: "host", namespace, virtualCluster: name };
    return Object.assign(platform.backends.ofVirtualCluster(instance({ clusterRef })), { counted });
  }

  test("counts as its project's, and the cluster that it is in as no project's", async () => {
    const vcluster = await withVcluster("p-default", "web");
    await vcluster.health(signal);
    expect(new Set(vcluster.counted)).toEqual(new Set([undefined, "p-default"]));
  });

  test("is reached where it is placed by the names of the instance", async () => {
    expect(await (await withVcluster("p-default", "web")).health(signal)).toMatchObject({ ready: true });
  });

  test("is reached elsewhere when its Secret is labelled for the instance", async () => {
    const labels = { "example.com/project": "default", "example.com/virtual-cluster": "web" };
    expect(await (await withVcluster("tenants", "any", labels)).health(signal)).toMatchObject({ ready: true });
  });

  test.each([
    ["default", "web", {}],
    ["p-other", "web", {}],
    ["p-default", "db", {}],
    ["tenants", "any", { "example.com/project": "default" }],
    ["tenants", "any", { "example.com/project": "other", "example.com/virtual-cluster": "web" }],
  ])("is not reached when it is another's: %s/%s %j (security book 10)", async (namespace, name, labels) => {
    expect(await faultOf((await withVcluster(namespace, name, labels)).health(signal))).toBe("NotOfThisInstance");
  });

  // Its users could make the platform connect to any address, or wait there for the instance of another project.
  test.each([
    ["p-default", "web", {}],
    ["tenants", "any", { "example.com/project": "default", "example.com/virtual-cluster": "web" }],
  ])("is not reached by a Secret in a space: %s/%s %j (security book 10, 31)", async (namespace, name, labels) => {
    const vcluster = await withVcluster(namespace, name, labels, true);
    expect(await vcluster.health(signal)).toMatchObject({
      reason: "NotOfThisInstance",
      message: expect.stringContaining("is a space"),
    });
  });
});

test("a space is reached in its connected cluster", async () => {
  const { backends } = await createPlatform();
  const space = backends.ofSpace({
    apiVersion: "management.example.com/v1",
    kind: "SpaceInstance",
    metadata: { namespace: "p-default", name: "team-a", uid: "space-uid" },
    spec: { clusterRef: { cluster: "host", namespace: "team-a" } },
  });
  await space.provision({}, signal);
  expect(await space.health(signal)).toMatchObject({ ready: true });
});
