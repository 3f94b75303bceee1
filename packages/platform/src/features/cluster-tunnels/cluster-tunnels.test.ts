// Joins and tunnels against the whole server, over real TLS.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunningPlatform } from "../../testing/running-platform.ts";
import {
  answerWith,
  askForTunnel,
  exchange,
  GOOD_ANSWER,
  joinedKey,
  joinValueFor,
  nextJoinValue,
  openFakeTunnel,
  PEER_UID,
} from "./testing/fake-agent.ts";
import {
  conditionOf,
  endAgentKeys,
  endTunnels,
  eventsOf,
  startTunnelPlatform,
  WAIT,
} from "./testing/tunnel-platform.ts";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startTunnelPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

const rotate = (key: string, clusterUid = PEER_UID) =>
  platform.send({ method: "POST", path: "/tunnel/key", key, headers: { "x-agent-cluster-uid": clusterUid } });

const keyFor = async (name: string, spec: object): Promise<string> =>
  (await platform.create("ownedaccesskeys", { metadata: { name }, spec })).spec.key;

describe("a join value", () => {
  it("serves the manifests of an agent until it is used, and is exchanged once", async () => {
    const value = await joinValueFor(platform, "once");
    const manifests = await platform.send({ path: `/join/${value}`, key: "" });
    expect(manifests.status).toBe(200);
    for (const kind of ["Namespace", "ServiceAccount", "ClusterRole", "Secret", "Deployment"])
      expect(manifests.text).toContain(`kind: ${kind}\n`);
    expect(manifests.text).toContain("replicas: 2");
    const answers = await Promise.all(Array.from({ length: 6 }, () => exchange(platform, value)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403, 403, 403]);
    expect((await platform.send({ path: `/join/${value}`, key: "" })).status).toBe(403);
  });

  it("is replaced by the next one, and by none where it is unknown", async () => {
    const first = await joinValueFor(platform, "replaced");
    const second = await nextJoinValue(platform, "replaced");
    expect((await exchange(platform, first)).status).toBe(403);
    expect((await exchange(platform, `${second.slice(0, -1)}x`)).status).toBe(403);
    expect((await exchange(platform, "")).status).toBe(403);
    expect((await exchange(platform, second)).status).toBe(201);
  });

  it("is no access key, and no access key is one", async () => {
    const value = await joinValueFor(platform, "no-key");
    expect((await platform.send({ path: "projects", key: value })).status).toBe(401);
    expect((await askForTunnel(platform, { key: value })).status).toBe(401);
    expect((await exchange(platform, platform.adminKey)).status).toBe(403);
  });

  it("ends with its Cluster, and with spec.networkPeer", async () => {
    const gone = await joinValueFor(platform, "gone");
    await platform.send({ method: "DELETE", path: "clusters/gone" });
    await platform.create("clusters", { metadata: { name: "gone" }, spec: { networkPeer: true } });
    expect((await exchange(platform, gone)).status).toBe(403);
    const off = await joinValueFor(platform, "off");
    await endTunnels(platform, "off");
    expect((await exchange(platform, off)).status).toBe(403);
    expect((await platform.send({ path: "clusters/off/join", body: {} })).status).toBe(409);
  });

  it("is not given to a key with limits, whatever those name", async () => {
    await joinValueFor(platform, "limited");
    const ofCluster = await keyFor("of-cluster", { scope: { clusters: [{ cluster: "limited" }] } });
    const ofRules = await keyFor("of-rules", {
      rules: [{ verbs: ["*"], resources: [{ group: "*", resources: ["*"] }], requestTargets: ["Management"] }],
    });
    for (const key of [ofCluster, ofRules])
      expect((await platform.send({ path: "clusters/limited/join", key, body: {} })).status).toBe(403);
  });
});

describe("the endpoint of tunnels", () => {
  it("takes the key of an agent alone, by its record", async () => {
    const key = await joinedKey(platform, "alone");
    const forged = await keyFor("forged", {
      subject: "postern:cluster:alone",
      type: "NetworkPeer",
      scope: { roles: [{ role: "network-peer" }] },
    });
    await platform.create("users", { metadata: { name: "tenant" } });
    const tenant = await keyFor("tenant", { user: "tenant" });
    for (const other of [forged, tenant, platform.adminKey])
      expect((await askForTunnel(platform, { key: other })).status).toBe(403);
    expect((await askForTunnel(platform, {})).status).toBe(403);
    for (const other of [forged, tenant, platform.adminKey]) expect((await rotate(other)).status).toBe(403);
    const good = await askForTunnel(platform, { key });
    expect([good.status, good.text]).toEqual([101, ""]);
    good.socket?.destroy();
  });

  it("is all that the key of an agent opens", async () => {
    const key = await joinedKey(platform, "narrow");
    const calls = [
      { path: "clusters/narrow" },
      { path: "clusters/narrow/accesskey" },
      { path: "clusters/narrow/join", body: {} },
      { path: "projects" },
      { path: "ownedaccesskeys", body: { metadata: { name: "mine" }, spec: {} } },
      { path: "/api/v1/secrets" },
      { path: "/kubernetes/cluster/narrow/api" },
      { path: "/metrics" },
      { path: "/apis/authentication.k8s.io/v1/tokenreviews", body: { spec: { token: key } } },
    ];
    const open: string[] = [];
    for (const call of calls) {
      const { status, body } = await platform.send({ ...call, key });
      if (status !== 403 && !(status === 200 && body?.items?.length === 0)) open.push(`${call.path} ${status}`);
    }
    expect(open).toEqual([]);
  });

  it("refuses what is no upgrade to its protocol, and impersonation", async () => {
    const key = await joinedKey(platform, "protocol");
    expect((await askForTunnel(platform, { key, headers: { upgrade: "websocket" } })).status).toBe(400);
    expect((await platform.send({ path: "/tunnel", key, headers: { "x-agent-cluster-uid": PEER_UID } })).status).toBe(
      400,
    );
    const asAdmin = { "impersonate-user": "admin" };
    expect((await askForTunnel(platform, { key, headers: asAdmin })).status).toBe(403);
    expect(
      (
        await askForTunnel(platform, {
          key: platform.adminKey,
          headers: { "impersonate-user": "postern:cluster:protocol" },
        })
      ).status,
    ).toBe(403);
  });

  it("refuses a copy of the key in another cluster, and reports it", async () => {
    const key = await joinedKey(platform, "copied");
    await using first = await openFakeTunnel(platform, { key }, answerWith(GOOD_ANSWER));
    const copy = await askForTunnel(platform, { key, clusterUid: "0b0e5c7e-0000-4000-8000-00000000000b" });
    expect([copy.status, copy.text]).toEqual([403, expect.stringContaining("copy of the key")]);
    expect((await rotate(key, "other")).status).toBe(403);
    await expect
      .poll(async () => (await conditionOf(platform, "copied", "Connected"))?.message, WAIT)
      .toContain("copy of the key");
    await expect.poll(() => eventsOf(platform, "copied"), WAIT).toContain("AgentRefused");
    expect(first.session.destroyed).toBe(false);
  });
});

describe("a tunnel", () => {
  it("leads to its own Cluster alone, with the identity of the caller and nothing of the platform's", async () => {
    const heads: string[] = [];
    const key = await joinedKey(platform, "mine");
    await joinedKey(platform, "others");
    await using _ = await openFakeTunnel(
      platform,
      { key },
      answerWith(GOOD_ANSWER, (head) => heads.push(head)),
    );
    const smuggled = { "impersonate-group": "system:masters", "x-remote-user": "root", "x-forwarded-for": "10.0.0.1" };
    expect((await platform.send({ path: "/kubernetes/cluster/mine/api", headers: smuggled })).status).toBe(400);
    expect(heads.join("")).not.toContain("masters");
    const plain = await platform.send({ path: "/kubernetes/cluster/mine/api", headers: { "x-remote-user": "root" } });
    expect([plain.status, plain.body?.kind], plain.text).toEqual([200, "APIVersions"]);
    const others = await platform.send({ path: "/kubernetes/cluster/others/api" });
    expect([others.status, others.body.details.causes[0].reason]).toEqual([503, "AgentNotConnected"]);
    const head = heads.find((text) => text.startsWith("GET /api ")) ?? "";
    expect(head).toMatch(/^GET \/api HTTP\/1\.1\r\n/);
    expect(head).toContain("impersonate-user: admin");
    expect(head.toLowerCase()).not.toMatch(/authorization|x-remote-user|system:masters|x-forwarded/);
    expect(head).not.toContain(platform.adminKey);
  });

  it.each<[string, (name: string) => Promise<unknown>]>([
    ["its Cluster is deleted", (name) => platform.send({ method: "DELETE", path: `clusters/${name}` })],
    ["spec.networkPeer ends", (name) => endTunnels(platform, name)],
    ["its key is disabled", (name) => endAgentKeys(platform, name, "disable")],
    ["the cluster joins again", async (name) => exchange(platform, await nextJoinValue(platform, name))],
  ])("is closed when %s, with the requests in it, and opens no more", async (what, end) => {
    const name = `cut-${what.replaceAll(/[^a-z]/g, "").slice(-12)}`;
    const key = await joinedKey(platform, name);
    const begun =
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{}\n\r\n";
    await using agent = await openFakeTunnel(platform, { key }, answerWith(begun));
    const watch = await platform.open({ path: `/kubernetes/cluster/${name}/api/v1/configmaps?watch=1` });
    await end(name);
    await Promise.all([agent.closed, watch.ended]);
    expect([watch.status, watch.text()]).toEqual([200, "{}\n"]);
    expect((await askForTunnel(platform, { key })).status).toBeGreaterThanOrEqual(401);
  });

  it("has its key replaced by the agent, and the old one is revoked after the new one was used", async () => {
    const old = await joinedKey(platform, "rotated");
    const unused = await rotate(old);
    const next = await rotate(old);
    expect([unused.status, next.status]).toEqual([201, 201]);
    expect((await askForTunnel(platform, { key: unused.body.key })).status).toBe(401);
    await using before = await openFakeTunnel(platform, { key: old }, answerWith(GOOD_ANSWER));
    await using after = await openFakeTunnel(platform, { key: next.body.key }, answerWith(GOOD_ANSWER));
    expect([before.session.destroyed, after.session.destroyed]).toEqual([false, false]);
    // It still opens tunnels for a while, and makes no more keys.
    expect((await rotate(old)).status).toBe(403);
    expect((await rotate(next.body.key)).status).toBe(201);
  });

  it("of an agent that leaves is closed once the requests in it are answered, and its unused connections at once", async () => {
    const key = await joinedKey(platform, "leaves");
    const answers: (() => void)[] = [];
    await using agent = await openFakeTunnel(platform, { key }, (stream) => {
      stream.respond({ ":status": 200 });
      stream.on("data", (chunk: Buffer) => {
        const answer = (): void => void stream.write(Buffer.from(GOOD_ANSWER));
        if (chunk.includes("GET /api?")) answers.push(answer);
        else answer();
      });
    });
    const path = "/kubernetes/cluster/leaves/api";
    expect((await platform.send({ path })).status).toBe(200);
    const slow = platform.send({ path: `${path}?slow` });
    await expect.poll(() => answers.length, WAIT).toBe(1);
    agent.session.goaway();
    for (const answer of answers) answer();
    agent.session.close();
    expect((await slow).status).toBe(200);
    await agent.closed;
    expect((await platform.send({ path })).status).toBe(503);
  });

  it("is limited in number", async () => {
    const key = await joinedKey(platform, "many");
    const agents = await Promise.all(
      Array.from({ length: 16 }, () => openFakeTunnel(platform, { key }, answerWith(GOOD_ANSWER))),
    );
    expect((await askForTunnel(platform, { key })).status).toBe(429);
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  });
});
