// A connected cluster over real TLS: spaces in it, a vcluster in it, and what is said when it goes down. Its part is played by a virtual
// cluster of a second server.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { kubectlWith, startPostern, succeed, temporaryDirectory } from "./testing/postern-process.ts";
import {
  clusterPath,
  INSTANCES,
  KEYS,
  keepKubeconfig,
  MANAGEMENT,
  ownAddress,
  type Server,
  startTwo,
} from "./testing/two-posterns.ts";

const WAIT = { timeout: 100_000, interval: 100 };
const SPACES = `${MANAGEMENT}/namespaces/p-default/spaceinstances`;
const SPACE = "/kubernetes/project/default/space/team";
const MAPS = "/api/v1/namespaces/team-a/configmaps";
/** The connected cluster, at the far server. */
const HOST = clusterPath("demo");

/** Not a loopback one: a kubeconfig in a vcluster's Secret that says localhost means the inside of the connected cluster. */
const FAR_ADDRESS = ownAddress();

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: Server;
let far: Server;
let farFlags: readonly string[];

/** A kubeconfig for a virtual cluster of the far server that may act as others there. */
async function farKubeconfig(name: string): Promise<string> {
  const asked = await far.send(`${INSTANCES}/${name}/kubeconfig`, { spec: { clientCert: true } });
  return asked.status.kubeConfig;
}

const statusOf = async (path: string): Promise<any> => (await near.send(path)).status;
const codeAt = async (path: string, key = near.key): Promise<number> => (await near.http(path, { key })).status;

async function keyOf(user: string): Promise<string> {
  await near.create(`${MANAGEMENT}/users`, { kind: "User", metadata: { name: user } });
  const key = { kind: "OwnedAccessKey", metadata: { name: `of-${user}` }, spec: { user } };
  return (await near.create(KEYS, key)).spec.key;
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  ({ near, far, farFlags } = await startTwo(directory.path, FAR_ADDRESS));
  await keepKubeconfig(near, "host", await farKubeconfig("demo"));
  const kubeConfigRef = { secretNamespace: "p-default", secretName: "host" };
  await near.create(`${MANAGEMENT}/clusters`, { kind: "Cluster", metadata: { name: "host" }, spec: { kubeConfigRef } });
});
afterAll(async () => {
  await near?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

describe("a space in a connected cluster", () => {
  let bob: string;

  it("has its namespace made there, with the labels of its template", async () => {
    bob = await keyOf("bob");
    await near.create(SPACES, {
      kind: "SpaceInstance",
      metadata: { name: "team" },
      spec: {
        owner: { user: "bob" },
        clusterRef: { cluster: "host", namespace: "team-a" },
        template: { metadata: { labels: { team: "a" } } },
      },
    });
    await expect.poll(() => statusOf(`${SPACES}/team`), WAIT).toMatchObject({ phase: "Ready" });
    const namespace = await far.send(`${HOST}/api/v1/namespaces/team-a`);
    expect(namespace.metadata.labels).toMatchObject({ team: "a", "app.kubernetes.io/managed-by": "postern" });
  });

  it("is read and written by its owner with kubectl, by the owner's own name", async () => {
    const file = join(directory.path, "space.kubeconfig");
    const cluster = { server: `${near.process.url}${SPACE}`, "certificate-authority": near.process.caFile };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "space", cluster }],
      users: [{ name: "space", user: { token: bob } }],
      contexts: [{ name: "space", context: { cluster: "space", user: "space", namespace: "team-a" } }],
      "current-context": "space",
    };
    await writeFile(file, JSON.stringify(config), { mode: 0o600 });
    const kubectl = kubectlWith(file, join(directory.path, "cache"));
    await succeed(kubectl(["create", "configmap", "mine", "--from-literal=a=b"]));
    expect(await succeed(kubectl(["get", "configmaps", "-o", "name"]))).toContain("configmap/mine");
    expect(await succeed(kubectl(["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]))).toBe("bob");
    expect((await far.send(`${HOST}${MAPS}/mine`)).data).toEqual({ a: "b" });
    const everywhere = await kubectl(["get", "configmaps", "--all-namespaces"]);
    expect(everywhere).toMatchObject({ code: 1, stderr: expect.stringContaining('has only namespace "team-a"') });
  });

  it.each([
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/kube-system/secrets",
    "/api/v1/configmaps",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/api/v1/namespaces/team-a/../default/configmaps",
    "/api/v1/namespaces/team-a/%2e%2e/default/configmaps",
    "/api/v1/namespaces/team-a%2f..%2fdefault/configmaps",
    "/metrics",
  ])("does not reach %s, for administrators either (security book 32)", async (path) => {
    for (const key of [bob, near.key]) expect([400, 403]).toContain(await codeAt(`${SPACE}${path}`, key));
  });

  it("does not allow changing the namespace itself, or access without permission", async () => {
    for (const method of ["DELETE", "PUT", "PATCH"]) {
      const answer = await near.http(`${SPACE}/api/v1/namespaces/team-a`, { key: bob, method, body: {} });
      expect(answer.status, answer.text).toBe(403);
    }
    expect(await codeAt(`${SPACE}${MAPS}`, await keyOf("stranger"))).toBe(403);
  });

  it("grants no permissions and tokens with a key for a part of it (security book 2)", async () => {
    const spec = { user: "admin", rules: [{ verbs: ["get", "create", "patch"] }] };
    const metadata = { name: "some-verbs" };
    const { key } = (await near.create(KEYS, { kind: "OwnedAccessKey", metadata, spec })).spec;
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    const bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings";
    const give = (base: string, name: string, as: string) =>
      near.http(`${base}${bindings}`, { key: as, body: { metadata: { name }, roleRef, subjects: [] } });
    await far.create(`${HOST}/api/v1/namespaces/team-a/serviceaccounts`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "robot" },
    });
    for (const base of [SPACE, "/kubernetes/cluster/host"]) {
      const refused = await give(base, "given", key);
      expect([refused.status, refused.text]).toEqual([
        403,
        expect.stringContaining("does not have access to the whole"),
      ]);
      const patched = { key, method: "PATCH", body: { roleRef } };
      expect((await near.http(`${base}${bindings}/given`, patched)).status).toBe(403);
      const token = `${base}/api/v1/namespaces/team-a/serviceaccounts/robot/token`;
      expect((await near.http(token, { key, body: { spec: {} } })).status).toBe(403);
    }
    expect((await near.http(`${SPACE}${MAPS}`, { key, body: { metadata: { name: "plain" } } })).status).toBe(201);
    expect((await give(SPACE, "given", near.key)).status).toBe(201);
  });

  it("does not use an existing namespace of others", async () => {
    const spec = { clusterRef: { cluster: "host", namespace: "kube-system" } };
    await near.create(SPACES, { kind: "SpaceInstance", metadata: { name: "thief" }, spec });
    await expect.poll(() => statusOf(`${SPACES}/thief`), WAIT).toMatchObject({ reason: "NamespaceTaken" });
    const secrets = "/kubernetes/project/default/space/thief/api/v1/namespaces/kube-system/secrets";
    expect(await codeAt(secrets)).toBe(409);
    await near.send(`${SPACES}/thief`, undefined, "DELETE");
    await expect.poll(() => codeAt(`${SPACES}/thief`), WAIT).toBe(404);
    expect((await far.send(`${HOST}/api/v1/namespaces/kube-system`)).status.phase).toBe("Active");
  });

  it("has a CA that is rotated in its cluster, not here", async () => {
    const refused = await near.http(`${SPACES}/team/certificateauthority`, { key: near.key });
    expect(refused).toMatchObject({ status: 409, body: { message: expect.stringContaining("rotated there") } });
  });

  it("takes its namespace along when it is deleted", async () => {
    await near.send(`${SPACES}/team`, undefined, "DELETE");
    await expect.poll(() => codeAt(`${SPACES}/team`), WAIT).toBe(404);
    const gone = await far.http(`${HOST}/api/v1/namespaces/team-a`, { key: far.key });
    expect(gone.status).toBe(404);
  });
});

describe.runIf(FAR_ADDRESS !== undefined)("a vcluster in a connected cluster", () => {
  const NAME = "inner";
  const INNER = clusterPath(NAME);
  const SECRETS = `${HOST}/api/v1/namespaces/p-default/secrets`;

  it("waits for the Secret with its kubeconfig, and reports that", async () => {
    const spec = { clusterRef: { cluster: "host" } };
    await near.create(INSTANCES, { kind: "VirtualClusterInstance", metadata: { name: NAME }, spec });
    await expect
      .poll(() => statusOf(`${INSTANCES}/${NAME}`), WAIT)
      .toMatchObject({
        phase: "Pending",
        reason: "VirtualClusterNotFound",
        message: expect.stringContaining(`vc-${NAME}`),
      });
  });

  it("is reached at the endpoint, and with the credential, that its Secret holds", async () => {
    await far.create(INSTANCES, {
      kind: "VirtualClusterInstance",
      metadata: { name: NAME },
      spec: { template: { accessPoint: { ingress: { enabled: true } } } },
    });
    await expect.poll(async () => (await far.send(`${INSTANCES}/${NAME}`)).status.phase, WAIT).toBe("Ready");
    await far.send(`${HOST}/api/v1/namespaces`, { metadata: { name: "p-default" } });
    const secret = { metadata: { name: `vc-${NAME}` }, stringData: { config: await farKubeconfig(NAME) } };
    await far.send(SECRETS, secret);
    await expect.poll(() => statusOf(`${INSTANCES}/${NAME}`), WAIT).toMatchObject({ phase: "Ready" });
    const maps = "/api/v1/namespaces/default/configmaps";
    await expect.poll(() => codeAt(`${INNER}${maps}`), WAIT).toBe(200);
    await near.send(`${INNER}${maps}`, { metadata: { name: "from-near" } });
    expect((await far.send(`${clusterPath(NAME)}${maps}/from-near`)).metadata.name).toBe("from-near");
    // It is another cluster than the one that its Secret lies in.
    expect((await far.http(`${HOST}${maps}/from-near`, { key: far.key })).status).toBe(404);
  });

  it("has an ingress endpoint below the suffix of its cluster, or advice about it", async () => {
    const asked = await near.http(`${INSTANCES}/${NAME}/kubeconfig`, {
      key: near.key,
      body: { spec: { clientCert: true } },
    });
    expect(asked.body.message).toContain("spec.template.accessPoint.ingress.enabled");
    await near.send(
      `${INSTANCES}/${NAME}`,
      { spec: { template: { accessPoint: { ingress: { enabled: true } } } } },
      "PATCH",
    );
    const again = await near.http(`${INSTANCES}/${NAME}/kubeconfig`, {
      key: near.key,
      body: { spec: { clientCert: true } },
    });
    expect(again).toMatchObject({ status: 400, body: { message: expect.stringContaining('annotate cluster "host"') } });
    const annotations = { metadata: { annotations: { "postern/ingress-suffix": "eu.example.com" } } };
    await near.send(`${MANAGEMENT}/clusters/host`, annotations, "PATCH");
    const { kubeConfig } = (await near.send(`${INSTANCES}/${NAME}/kubeconfig`, { spec: { clientCert: true } })).status;
    expect(kubeConfig).toContain(`server: https://${NAME}-default.eu.example.com\n`);
  });

  it("does not give what belongs to another instance", async () => {
    const spec = { clusterRef: { cluster: "host", namespace: "p-default", virtualCluster: NAME } };
    await near.create(INSTANCES, { kind: "VirtualClusterInstance", metadata: { name: "thief" }, spec });
    await expect.poll(() => statusOf(`${INSTANCES}/thief`), WAIT).toMatchObject({ reason: "NotOfThisInstance" });
    expect(await codeAt(`${clusterPath("thief")}/api/v1/namespaces`)).toBe(502);
  });
});

describe("clusters that others run", () => {
  it("whose agent has not connected is not reached", async () => {
    const path = `${MANAGEMENT}/clusters`;
    const asked = await near.http(path, {
      key: near.key,
      body: {
        apiVersion: "management.postern/v1",
        kind: "Cluster",
        metadata: { name: "peer" },
        spec: { networkPeer: true },
      },
    });
    expect(asked.status, asked.text).toBe(201);
    expect(asked.headers["warning"]).toBeUndefined();
    await expect
      .poll(() => statusOf(`${path}/peer`), WAIT)
      .toMatchObject({
        phase: "Pending",
        conditions: [
          { type: "Ready", status: "False", reason: "AgentNotConnected" },
          { type: "Connected", status: "False", reason: "AgentNotConnected" },
        ],
      });
    expect(await codeAt("/kubernetes/cluster/peer/api")).toBe(503);
  });

  it("that is external leads to where its own kubeconfig does, once its ingress endpoint is on", async () => {
    await keepKubeconfig(near, "vc-outer", await farKubeconfig("demo"));
    await near.create(INSTANCES, {
      kind: "VirtualClusterInstance",
      metadata: { name: "outer" },
      spec: { external: true, template: { accessPoint: { ingress: { enabled: true } } } },
    });
    await expect.poll(() => statusOf(`${INSTANCES}/outer`), WAIT).toMatchObject({ phase: "Ready" });
    const { kubeConfig } = (await near.send(`${INSTANCES}/outer/kubeconfig`, { spec: { clientCert: true } })).status;
    const file = join(directory.path, "outer.kubeconfig");
    await writeFile(file, kubeConfig, { mode: 0o600 });
    const kubectl = kubectlWith(file, join(directory.path, "cache"));
    expect(await succeed(kubectl(["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"]))).toBe(
      `${far.process.url}${HOST}`,
    );
    expect(await succeed(kubectl(["get", "namespaces", "-o", "name"]))).toContain("namespace/default");
  });

  byNight("is said to be down when it is, answers 503, keeps what waits for it, and is found again", async () => {
    await near.create(SPACES, {
      kind: "SpaceInstance",
      metadata: { name: "lasting" },
      spec: { clusterRef: { cluster: "host", namespace: "lasting" } },
    });
    await near.create(SPACES, {
      kind: "SpaceInstance",
      metadata: { name: "leaving" },
      spec: { clusterRef: { cluster: "host", namespace: "leaving" } },
    });
    await expect.poll(() => statusOf(`${SPACES}/leaving`), WAIT).toMatchObject({ phase: "Ready" });
    const paths = [`${SPACES}/lasting`, `${INSTANCES}/outer`, `${MANAGEMENT}/clusters/host`];
    const ready = async () =>
      await Promise.all(
        paths.map(
          async (path) =>
            (await statusOf(path)).conditions.find(({ type }: { type: string }) => type === "Ready")?.status,
        ),
      );
    await expect.poll(ready, WAIT).toEqual(["True", "True", "True"]);
    await far.process.stop();
    const down = await near.http("/kubernetes/project/default/space/lasting/api/v1/namespaces/lasting/configmaps", {
      key: near.key,
    });
    expect(down.status, down.text).toBe(503);
    expect(down.headers["retry-after"]).toBeUndefined();
    expect(down.body.details.causes[0].reason).toBe("ConnectionRefused");
    await expect.poll(ready, WAIT).toEqual(["False", "False", "False"]);
    expect((await near.http(`${SPACES}/leaving`, { key: near.key, method: "DELETE" })).status).toBe(200);
    const waiting = {
      reason: "ConnectionRefused",
      message: expect.stringMatching(
        /it will be deleted when its namespace leaving is, but connection refused; .*the cluster host/,
      ),
    };
    await expect
      .poll(() => statusOf(`${SPACES}/leaving`), WAIT)
      .toMatchObject({ ...waiting, phase: "Pending", conditions: [{ type: "Ready", status: "False", ...waiting }] });
    await using _again = await startPostern(far.process.dataDir, farFlags);
    await expect.poll(ready, WAIT).toEqual(["True", "True", "True"]);
    await expect.poll(() => codeAt(`${SPACES}/leaving`), WAIT).toBe(404);
  });
});
