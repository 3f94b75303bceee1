// Agents whose ServiceAccount's token takes the place of a stored key: against the whole server, over real TLS.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type IssuerSigningKey, newSigningKey, signClaims } from "../../foundation/issuers/testing/serve-issuer.ts";
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
  agentKeysOf,
  conditionOf,
  endAgentKeys,
  endTunnels,
  eventsOf,
  startTunnelPlatform,
  WAIT,
} from "./testing/tunnel-platform.ts";

const ISSUER = "https://kubernetes.default.svc";
const AUDIENCE = "https://postern.example.com";
const ACCOUNT = "0b0e5c7e-0000-4000-8000-0000000000aa";
const POD = "0b0e5c7e-0000-4000-8000-0000000000ab";
const OTHER_UID = "0b0e5c7e-0000-4000-8000-00000000000b";

let platform: RunningPlatform;
/** Keys of the cluster's own issuer, and those of another cluster with an issuer of the same name. */
let own: IssuerSigningKey;
let foreign: IssuerSigningKey;
beforeAll(async () => {
  [own, foreign] = [await newSigningKey(), await newSigningKey()];
  platform = await startTunnelPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

type TokenWishes = {
  readonly key?: IssuerSigningKey;
  readonly claims?: object;
  readonly account?: string;
  readonly pod?: string;
  readonly issuer?: string;
  readonly expiresIn?: number;
};

const tokenOf = ({
  key = own,
  claims = {},
  account = ACCOUNT,
  pod = POD,
  issuer = ISSUER,
  expiresIn,
}: TokenWishes = {}) =>
  signClaims(
    issuer,
    {
      aud: [AUDIENCE],
      sub: "system:serviceaccount:postern-agent:postern-agent",
      "kubernetes.io": { namespace: "postern-agent", serviceaccount: { uid: account }, pod: { uid: pod } },
      ...claims,
    },
    key,
    { header: { typ: undefined }, ...(expiresIn === undefined ? {} : { expiresIn }) },
  );
const setOf = (...keys: readonly IssuerSigningKey[]): string => JSON.stringify({ keys: keys.map(({ jwk }) => jwk) });

async function joinWithToken(name: string, key = own): Promise<any> {
  const value = await joinValueFor(platform, name);
  const identity = { token: await tokenOf({ key }), jwks: setOf(key) };
  const { status, body, text } = await platform.send({
    ...{ path: "/join", key: "" },
    body: { value, clusterUid: PEER_UID, identity },
  });
  if (status !== 201) throw new Error(text);
  return body;
}
const show = (cluster: string, token: string, more: object = {}) =>
  platform.send({ path: "/join", key: "", body: { token, cluster, clusterUid: PEER_UID, ...more } });
const connectedOf = async (cluster: string): Promise<string> =>
  (await conditionOf(platform, cluster, "Connected"))?.message ?? "";

describe("an agent with a token of its ServiceAccount", () => {
  it("joins with it, and exchanges later ones for keys that open its tunnel for a day", async () => {
    const joined = await joinWithToken("proven");
    expect(joined).toMatchObject({ cluster: "proven", identity: "token" });
    const { status, body } = await show("proven", await tokenOf());
    expect([status, body.identity]).toEqual([201, "token"]);
    for (const { key, expirationTimestamp } of [joined, body]) {
      const hours = (Date.parse(expirationTimestamp) - Date.now()) / 3_600_000;
      expect(hours).toBeGreaterThan(23);
      expect(hours).toBeLessThanOrEqual(24);
      await using agent = await openFakeTunnel(platform, { key }, answerWith(GOOD_ANSWER));
      expect(agent.session.destroyed).toBe(false);
    }
    const made = await agentKeysOf(platform, "proven");
    expect(made.map(({ spec }: any) => [spec.type, spec.subject, spec.scope.roles])).toEqual(
      Array.from({ length: 2 }, () => ["NetworkPeer", "postern:cluster:proven", [{ role: "network-peer" }]]),
    );
  });

  it("gets no key of months for one of a day", async () => {
    const { key } = await joinWithToken("short");
    const headers = { "x-agent-cluster-uid": PEER_UID };
    expect((await platform.send({ method: "POST", path: "/tunnel/key", key, headers })).status).toBe(403);
  });

  it("keeps its key where the token proves nothing, and says why", async () => {
    const proofs: readonly [string, object][] = [
      ["did not sign", { token: await tokenOf({ key: foreign }), jwks: setOf(own) }],
      ["must be the JSON of a JWK set", { token: await tokenOf(), jwks: "{}" }],
      ["not one of a ServiceAccount", { token: await tokenOf({ claims: { "kubernetes.io": {} } }), jwks: setOf(own) }],
      ["several audiences", { token: await tokenOf({ claims: { aud: [AUDIENCE, ISSUER] } }), jwks: setOf(own) }],
      ["expired", { token: await tokenOf({ expiresIn: -100 }), jwks: setOf(own) }],
      ["16384 characters", { token: await tokenOf(), jwks: `${setOf(own)}${" ".repeat(20_000)}` }],
    ];
    await platform.create("clusters", { metadata: { name: "unproven" }, spec: { networkPeer: true } });
    const faults: string[] = [];
    for (const [, identity] of proofs) {
      const value = await nextJoinValue(platform, "unproven");
      const { status, body } = await platform.send({
        ...{ path: "/join", key: "" },
        body: { value, clusterUid: PEER_UID, identity },
      });
      expect([status, body.identity]).toEqual([201, undefined]);
      faults.push(body.identityFault);
    }
    expect(
      faults.map((fault, at) => fault.includes(proofs[at]?.[0] ?? "?")),
      faults.join("\n"),
    ).toEqual(proofs.map(() => true));
    expect((await show("unproven", await tokenOf())).status).toBe(403);
  });

  it("is no other: tokens of other clusters, accounts, receivers and issuers get nothing, and the Cluster shows nothing of them", async () => {
    await joinWithToken("itself");
    await joinWithToken("neighbour", foreign);
    await joinedKey(platform, "stored");
    const refused: readonly [string, string][] = [
      ["itself", await tokenOf({ key: foreign })],
      ["neighbour", await tokenOf()],
      ["stored", await tokenOf()],
      ["missing", await tokenOf()],
      ["itself", await tokenOf({ account: OTHER_UID })],
      ["itself", await tokenOf({ issuer: `${ISSUER}/` })],
      ["itself", await tokenOf({ claims: { aud: ISSUER } })],
      ["itself", await tokenOf({ claims: { aud: [AUDIENCE, ISSUER] } })],
      ["itself", await tokenOf({ claims: { sub: "system:serviceaccount:postern-agent:default" } })],
      ["itself", (await tokenOf()).replace(/\.[^.]*$/, ".")],
      ["itself", "not-a-token"],
    ];
    const statuses: number[] = [];
    for (const [cluster, token] of refused) statuses.push((await show(cluster, token)).status);
    expect(statuses).toEqual(refused.map(() => 403));
    expect((await show("itself", await tokenOf(), { namespace: "p-default" })).status).toBe(403);
    expect((await show("itself", await tokenOf())).status).toBe(201);
    expect(await eventsOf(platform, "itself")).not.toContain("AgentRefused");
  });

  it.each<[string, () => Promise<string>, object, string]>([
    ["copied to another cluster", () => tokenOf(), { clusterUid: OTHER_UID }, "copy of the credential"],
    ["from a clock that is behind", () => tokenOf({ expiresIn: -100 }), {}, "token that is not accepted"],
    [
      "from a clock that is ahead",
      () => tokenOf({ claims: { iat: Math.floor(Date.now() / 1000) + 300 } }),
      {},
      "token that is not accepted",
    ],
  ])("is refused and reported where its token is %s", async (what, token, more, message) => {
    const name = `reported-${what.replaceAll(/[^a-z]/g, "").slice(-8)}`;
    await joinWithToken(name);
    const answer = await show(name, await token(), more);
    expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining(message)]);
    if (what.includes("clock")) expect(answer.body.message).toContain("compare the clocks");
    await expect.poll(() => connectedOf(name), WAIT).toContain(message);
    await expect.poll(() => eventsOf(platform, name), WAIT).toContain("AgentRefused");
  });

  it("brings the new keys of its issuer, which are reported, and the old ones end", async () => {
    await joinWithToken("renewed");
    const next = await newSigningKey();
    expect((await show("renewed", await tokenOf({ key: next }), { jwks: setOf(next) })).status).toBe(403);
    expect((await show("renewed", await tokenOf(), { jwks: setOf(own, next) })).status).toBe(201);
    expect((await show("renewed", await tokenOf({ key: next }), { jwks: setOf(next) })).status).toBe(201);
    expect((await show("renewed", await tokenOf())).status).toBe(403);
    await expect.poll(() => eventsOf(platform, "renewed"), WAIT).toContain("AgentKeysChanged");
  });

  it.each<[string, (name: string) => Promise<unknown>]>([
    ["its key is disabled", (name) => endAgentKeys(platform, name, "disable")],
    ["its key is deleted", (name) => endAgentKeys(platform, name, "delete")],
    ["spec.networkPeer ends", (name) => endTunnels(platform, name)],
    ["the cluster joins again without one", async (name) => exchange(platform, await nextJoinValue(platform, name))],
  ])("loses its tunnel when %s, and gets no further key", async (what, end) => {
    const name = `ended-${what.replaceAll(/[^a-z]/g, "").slice(-10)}`;
    const { key } = await joinWithToken(name);
    await using agent = await openFakeTunnel(platform, { key }, answerWith(GOOD_ANSWER));
    await end(name);
    await agent.closed;
    expect((await show(name, await tokenOf())).status).toBe(403);
    expect((await askForTunnel(platform, { key })).status).toBeGreaterThanOrEqual(401);
  });

  it("leaves few keys behind, however often its pods start, and however many they are", async () => {
    await joinWithToken("restarted");
    const keys: string[] = [];
    for (let count = 0; count < 4; count++) keys.push((await show("restarted", await tokenOf())).body.key);
    for (let count = 0; count < 32; count++) {
      const pod = `0b0e5c7e-0000-4000-8000-0000000001${String(count).padStart(2, "0")}`;
      keys.push((await show("restarted", await tokenOf({ pod }))).body.key);
    }
    expect((await agentKeysOf(platform, "restarted")).length).toBeLessThanOrEqual(32);
    expect((await askForTunnel(platform, { key: keys[0] ?? "" })).status).toBe(401);
    const { status, socket } = await askForTunnel(platform, { key: keys.at(-1) ?? "" });
    socket?.destroy();
    expect(status).toBe(101);
  });
});

describe("a join value that was used", () => {
  it("is refused with the time of its use, and reported where another cluster shows it", async () => {
    const value = await joinValueFor(platform, "stolen");
    expect((await exchange(platform, value, OTHER_UID)).status).toBe(201);
    const again = await exchange(platform, value, OTHER_UID);
    expect([again.status, again.body.message]).toEqual([403, expect.stringMatching(/was used at \d{4}-/)]);
    expect(await eventsOf(platform, "stolen")).not.toContain("AgentRefused");
    const late = await exchange(platform, value);
    expect([late.status, late.body.message]).toEqual([403, expect.stringMatching(/was used at \d{4}-/)]);
    await expect.poll(() => connectedOf("stolen"), WAIT).toContain("came with the join value that was used");
    await expect.poll(() => eventsOf(platform, "stolen"), WAIT).toContain("AgentRefused");
  });
});
