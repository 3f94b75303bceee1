// Watches through one server to a cluster of another, with either kind of credential between the two: they end with whatever opened
// them, on both sides.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openResponse } from "./testing/http-client.ts";
import { succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";
import {
  clusterPath,
  INSTANCES,
  KEYS,
  keepKubeconfig,
  longRunning,
  MANAGEMENT,
  type Server,
  startTwo,
} from "./testing/two-posterns.ts";

const WAIT = { timeout: 60_000, interval: 50 };
const MAPS = "/api/v1/namespaces/default/configmaps";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: Server;
let far: Server;

beforeAll(async () => {
  directory = await temporaryDirectory();
  ({ near, far } = await startTwo(directory.path));
});
afterAll(async () => {
  await near?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const makeKey = async (server: Server, name: string): Promise<string> =>
  (await server.create(KEYS, { kind: "OwnedAccessKey", metadata: { name }, spec: { user: "admin" } })).spec.key;

describe.each([
  ["a token", false],
  ["a client certificate", true],
])("between two servers: %s", (_what, clientCert) => {
  const name = clientCert ? "by-certificate" : "by-token";
  const path = clusterPath(name);
  let lentKey: string;

  beforeAll(async () => {
    lentKey = `lent-${name}`;
    const key = await makeKey(far, lentKey);
    const asked = await far.http(`${INSTANCES}/demo/kubeconfig`, { key, body: { spec: { clientCert } } });
    expect(asked.status, asked.text).toBe(201);
    const config: string = asked.body.status.kubeConfig;
    expect(config).toContain(clientCert ? "client-certificate-data" : "token:");
    // The key in a kubeconfig opens its one cluster, and cannot impersonate there: the near server needs one that may.
    await keepKubeconfig(near, `vc-${name}`, config.replace(/token: \S+/, `token: ${key}`));
    const instance = { kind: "VirtualClusterInstance", metadata: { name }, spec: { external: true } };
    await near.create(INSTANCES, instance);
  });

  /** An open watch through both, which the far server counts. */
  async function watching(key: string) {
    const before = await longRunning(far);
    const stream = await openResponse(near.process, `${path}${MAPS}?watch=1`, key);
    expect(stream.status).toBe(200);
    await expect.poll(stream.text, WAIT).toContain('"kube-root-ca.crt"');
    expect(await longRunning(far)).toBe(before + 1);
    return { stream, before };
  }

  it("the cluster becomes ready", async () => {
    await expect.poll(async () => (await near.send(`${INSTANCES}/${name}`)).status.phase, WAIT).toBe("Ready");
    await expect.poll(async () => (await near.http(path + MAPS, { key: near.key })).status, WAIT).toBe(200);
  });

  it("impersonates the caller, who reads, writes, applies and watches", async () => {
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const { status } = await near.send(`${path}/apis/authentication.k8s.io/v1/selfsubjectreviews`, review);
    expect(status.userInfo.username).toBe("admin");
    expect(status.userInfo.groups).toContain("postern:role:cluster-admin");

    const { stream } = await watching(near.key);
    const login = ["--server", `${near.process.url}${path}`, "--certificate-authority", near.process.caFile];
    const kubectl = (args: readonly string[], object: object) =>
      succeed(tool("kubectl", [...login, "--token", near.key, ...args, "-f", "-"], JSON.stringify(object)));
    const map = (value: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `applied-${name}` },
      data: { value },
    });
    expect(await kubectl(["apply"], map("1"))).toContain("created");
    expect(await kubectl(["apply"], map("2"))).toContain("configured");
    expect(await kubectl(["apply", "--server-side", "--force-conflicts"], map("3"))).toContain("serverside-applied");
    const kept = await far.send(`${clusterPath("demo")}${MAPS}/applied-${name}`);
    expect(kept.data).toEqual({ value: "3" });
    for (const value of ["1", "2", "3"]) await expect.poll(stream.text, WAIT).toContain(`"data":{"value":"${value}"}`);
  });

  it("a watch ends on both sides when the caller's key is deleted (security book 15)", async () => {
    const key = await makeKey(near, `deleted-${name}`);
    const { stream, before } = await watching(key);
    await near.send(`${KEYS}/deleted-${name}`, undefined, "DELETE");
    await stream.ended;
    await expect.poll(() => longRunning(far), WAIT).toBe(before);
  });

  it("a watch ends on both sides with the kubeconfig's own key, and with the key it was asked with (security book 15)", async () => {
    const parent = await makeKey(near, `parent-${name}`);
    const asked = await near.http(`${INSTANCES}/${name}/kubeconfig`, { key: parent, body: { spec: {} } });
    expect(asked.status, asked.text).toBe(201);
    const token = /token: (\S+)/.exec(asked.body.status.kubeConfig)?.[1] ?? expect.unreachable();
    const { stream, before } = await watching(token);
    const disabled = { spec: { disabled: true } };
    await near.send(`${KEYS}/parent-${name}`, disabled, "PATCH");
    await stream.ended;
    await expect.poll(() => longRunning(far), WAIT).toBe(before);
    expect((await near.http(`${path}${MAPS}`, { key: token })).status).toBe(401);
  });

  it("a watch ends on both sides when the far server revokes what the near one came with (security book 15)", async () => {
    const { stream, before } = await watching(near.key);
    const ofKey = `${MANAGEMENT}/ownedaccesskeys/${lentKey}/credentials`;
    const { credentials } = (await far.send(ofKey)).status;
    const ids: string[] = credentials.map(({ id }: { id: string }) => id);
    const serials = ids.filter((id) => id.startsWith("serial:"));
    const revoke = clientCert ? serials : ids.slice(0, 1);
    expect(revoke).toHaveLength(1);
    await far.send(ofKey, { apiVersion: "management.postern/v1", kind: "CredentialLedger", spec: { revoke } });
    await stream.ended;
    await expect.poll(() => longRunning(far), WAIT).toBeLessThan(before + 1);
    // It is the near server's own credential that is refused, not the caller's.
    const refused = await near.http(path + MAPS, { key: near.key });
    expect(refused).toMatchObject({ status: 502, body: { details: { causes: [{ reason: "CredentialRefused" }] } } });
    const status = async () => (await near.send(`${INSTANCES}/${name}`)).status;
    await expect.poll(status, WAIT).toMatchObject({ phase: "Pending", reason: "CredentialRefused" });
  });
});
