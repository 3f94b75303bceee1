// Virtual clusters that others run, and that an agent connects: against the whole server, over real TLS.

import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import type { RunningPlatform } from "../../testing/running-platform.ts";
import { answerWith, askForTunnel, exchange, GOOD_ANSWER, openFakeTunnel } from "./testing/fake-agent.ts";
import { startTunnelPlatform, WAIT } from "./testing/tunnel-platform.ts";

const INSTANCES = "namespaces/p-default/virtualclusterinstances";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startTunnelPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

const make = (name: string, spec: object = { external: true, networkPeer: true }) =>
  platform.create(INSTANCES, { metadata: { name }, spec });
const join = (name: string, key = platform.adminKey) =>
  platform.send({ method: "POST", path: `${INSTANCES}/${name}/join`, key, body: {} });
const valueIn = ({ body }: { readonly body: any }): string =>
  body.status.url.slice(body.status.url.lastIndexOf("/") + 1);
const change = (name: string, spec: object) =>
  platform.send({ method: "PATCH", path: `${INSTANCES}/${name}`, body: { spec } });
const conditionsOf = async (name: string): Promise<readonly string[]> => {
  const { body } = await platform.send({ path: `${INSTANCES}/${name}` });
  return (body.status?.conditions ?? []).map(({ type, status, reason }: any) => `${type}=${status} ${reason}`);
};

async function joinedKey(name: string): Promise<string> {
  await make(name);
  const { status, body, text } = await exchange(platform, valueIn(await join(name)));
  if (status !== 201) throw new Error(text);
  expect(body).toMatchObject({ cluster: name, namespace: "p-default" });
  return body.key;
}

async function keyOfMember(name: string, clusterRole: string): Promise<string> {
  await platform.create("users", { metadata: { name } });
  const { body: project } = await platform.send({ path: "projects/default" });
  const members = [...(project.spec.members ?? []), { kind: "User", name, clusterRole }];
  await platform.send({ method: "PATCH", path: "projects/default", body: { spec: { members } } });
  return (await platform.create("ownedaccesskeys", { metadata: { name }, spec: { user: name } })).spec.key;
}

describe("a virtual cluster that an agent connects", () => {
  it("is Ready and Connected while its agent is there, and leads its users to it by their names", async () => {
    const key = await joinedKey("outer");
    await expect.poll(() => conditionsOf("outer"), WAIT).toContain("Connected=False AgentNotConnected");
    const heads: string[] = [];
    const agent = await openFakeTunnel(
      platform,
      { key },
      answerWith(GOOD_ANSWER, (head) => heads.push(head)),
    );
    await expect.poll(() => conditionsOf("outer"), WAIT).toContain("Connected=True AgentConnected");
    const path = "/kubernetes/project/default/virtualcluster/outer/api";
    const answer = await platform.send({ path });
    expect([answer.status, answer.body?.kind], answer.text).toEqual([200, "APIVersions"]);
    const head = heads.find((text) => text.startsWith("GET /api ")) ?? "";
    expect(head).toContain("impersonate-user: admin");
    expect(head.toLowerCase()).not.toContain("authorization");
    await agent[Symbol.asyncDispose]();
    await expect.poll(() => conditionsOf("outer"), WAIT).toContain("Connected=False AgentNotConnected");
    expect((await platform.send({ path })).body.details.causes[0].reason).toBe("AgentNotConnected");
    const reasons = async (): Promise<readonly string[]> => {
      const { body } = await platform.send({ path: "/api/v1/namespaces/p-default/events" });
      const events = body.items.filter(({ involvedObject }: any) => involvedObject.name === "outer");
      return events.map(({ reason }: any) => reason);
    };
    await expect.poll(reasons).toEqual(expect.arrayContaining(["AgentJoined", "AgentConnected", "AgentLost"]));
  });

  it("has kubeconfigs through the platform, with tokens and with certificates, and past it where the caller names an address", async () => {
    const key = await joinedKey("addressed");
    const ask = (spec: object) => platform.send({ path: `${INSTANCES}/addressed/kubeconfig`, body: { spec } });
    const { status, body } = await ask({});
    expect([status, body.status.kubeConfig]).toEqual([
      201,
      expect.stringContaining("/kubernetes/project/default/virtualcluster/addressed\n"),
    ]);
    const certified = await ask({ clientCert: true });
    expect(certified.status, certified.text).toBe(201);
    const { clusters, users } = parse(certified.body.status.kubeConfig);
    const { pathname } = new URL(clusters[0].cluster.server);
    expect(pathname).toBe("/kubernetes/project/default/virtualcluster/addressed");
    const heads: string[] = [];
    await using _ = await openFakeTunnel(
      platform,
      { key },
      answerWith(GOOD_ANSWER, (head) => heads.push(head)),
    );
    const pem = (name: string): string => Buffer.from(users[0].user[name], "base64").toString();
    const certificate = { cert: pem("client-certificate-data"), key: pem("client-key-data") };
    const through = await platform.send({ path: `${pathname}/api`, certificate });
    expect([through.status, through.body?.kind], through.text).toEqual([200, "APIVersions"]);
    expect(heads.find((text) => text.startsWith("GET /api "))).toContain("impersonate-user: admin");
    const refused = await ask({ clientCert: true, endpoint: "Cluster" });
    expect([refused.status, refused.body.message]).toEqual([
      400,
      expect.stringContaining("set spec.server to it, or request a token"),
    ]);
  });

  it("joins as its project's administrators and its owner say, and by nobody else's word", async () => {
    await make("asked");
    expect((await join("asked", await keyOfMember("project-admin", "postern:project-admin"))).status).toBe(201);
    expect((await join("asked", await keyOfMember("project-user", "postern:project-user"))).status).toBe(403);
    const limited = { scope: { projects: [{ project: "default" }] } };
    const { key } = (await platform.create("ownedaccesskeys", { metadata: { name: "limited" }, spec: limited })).spec;
    expect((await join("asked", key)).status).toBe(403);
  });

  it.each([
    ["an embedded one", {}],
    ["an external one with a kubeconfig", { external: true }],
    ["an embedded one that says so", { networkPeer: true }],
  ])("is none of the others: %s cannot be joined", async (_what, spec) => {
    const name = `other-${Object.keys(spec).join("-").toLowerCase()}x`;
    await make(name, spec);
    const answer = await join(name);
    expect([answer.status, answer.body.message]).toEqual([
      409,
      expect.stringContaining("only while spec.external and spec.networkPeer are true"),
    ]);
  });

  it.each<[string, (name: string) => Promise<unknown>]>([
    ["it is deleted", (name) => platform.send({ method: "DELETE", path: `${INSTANCES}/${name}` })],
    ["spec.networkPeer ends", (name) => change(name, { networkPeer: false })],
  ])("closes its tunnels when %s, and then refuses the key of its agent", async (what, end) => {
    const name = `cut-${what.replaceAll(/[^a-z]/g, "").slice(-9)}`;
    const key = await joinedKey(name);
    await using agent = await openFakeTunnel(platform, { key }, answerWith(GOOD_ANSWER));
    await end(name);
    await agent.closed;
    expect((await askForTunnel(platform, { key })).status).toBeGreaterThanOrEqual(401);
    await platform.send({ method: "DELETE", path: `${INSTANCES}/${name}` });
    await expect.poll(async () => (await platform.send({ path: `${INSTANCES}/${name}` })).status, WAIT).toBe(404);
    await make(name);
    expect((await askForTunnel(platform, { key })).status).toBeGreaterThanOrEqual(401);
  });

  it("is limited in tunnels, also where they are opened at once", async () => {
    const key = await joinedKey("many");
    const asked = await Promise.all(Array.from({ length: 30 }, () => askForTunnel(platform, { key })));
    const statuses = asked.map(({ status }) => status);
    expect([statuses.filter((status) => status === 101).length, new Set(statuses)]).toEqual([16, new Set([101, 429])]);
    for (const { socket } of asked) socket?.destroy();
    await expect.poll(async () => (await askForTunnel(platform, { key })).status, WAIT).toBe(101);
  });
});

it("reads the record of one join value, and not those of all virtual clusters, for a request without a credential", async () => {
  let value = "";
  for (let index = 0; index < 5; index++) {
    await make(`waiting-${index}`);
    value = valueIn(await join(`waiting-${index}`));
  }
  await expect.poll(async () => (await platform.send({ path: `/join/${value}`, key: "" })).status, WAIT).toBe(200);
  const decode = vi.spyOn(CachedObject.prototype, "decode");
  expect((await platform.send({ path: `/join/${value}`, key: "" })).status).toBe(200);
  const keys = decode.mock.contexts.map((object) => (object as CachedObject).key);
  decode.mockRestore();
  expect(new Set(keys.filter((key) => key.includes("cluster-joins"))).size).toBeLessThan(2);
});
