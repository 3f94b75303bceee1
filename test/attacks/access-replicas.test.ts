// Access on request on two servers of one etcd: what one of them has answered holds on both, whichever is asked.

import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PosternProcess, startPostern } from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { attackerOf, MERGE } from "./testing/attacking.ts";

const ROUNDS = 8;

describe.skipIf(whyNoEtcd() !== undefined)("two servers on one etcd", () => {
  let two: TwoOnEtcd<PosternProcess>;
  let clients: readonly Awaited<ReturnType<typeof attackerOf>>[];
  const keys: { [user: string]: string } = {};

  beforeAll(async () => {
    two = await startTwoOnEtcd(startPostern, ["--failed-logins-per-minute", "0"]);
    clients = await Promise.all(two.servers.map((server) => attackerOf(server)));
    for (const name of ["ann", "carl", "dora"]) keys[name] = await at(0).user(name);
    await at(0).must({
      path: "clusteraccesspolicies",
      body: {
        metadata: { name: "oncall" },
        spec: {
          requesters: { users: ["ann"] },
          approvers: { users: ["carl", "dora"], count: 2 },
          maxDurationSeconds: 600,
          targets: [{ kind: "VirtualCluster", projects: ["default"], names: ["demo"], roles: ["edit"] }],
        },
      },
    });
  });
  afterAll(() => two?.[Symbol.asyncDispose]());

  const at = (turn: number) => {
    const client = clients[turn % 2];
    if (client === undefined) throw new Error("there are two servers");
    return client;
  };
  const ask = async (turn: number): Promise<string> => {
    const spec = { policy: { name: "oncall" }, target: { project: "default", virtualCluster: "demo" }, role: "edit" };
    const made = await at(turn).send({ path: "accessrequests", as: keys["ann"] ?? "", body: { metadata: {}, spec } });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    return made.body.metadata.name;
  };
  const decide = (turn: number, user: string, name: string, decision: string) =>
    at(turn).send({ path: `accessrequests/${name}/approval`, as: keys[user] ?? "", body: { spec: { decision } } });
  /** As both servers answer. */
  const inside = (key = keys["ann"] ?? "") =>
    Promise.all(
      clients.map(async (client) => {
        const path = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";
        return (await client.send({ path, as: key })).status;
      }),
    );

  it("grant at the last approval, and end with the answer to a revocation, whichever is asked", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = await ask(round);
      expect((await decide(round + 1, "carl", name, "Approve")).body.status.phase).toBe("Pending");
      expect(await inside()).toEqual([403, 403]);
      expect((await decide(round, "dora", name, "Approve")).body.status.phase).toBe("Approved");
      expect(await inside()).toEqual([200, 200]);
      const made = await at(round).send({
        path: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
        as: keys["ann"] ?? "",
        body: { spec: {} },
      });
      const token = /token: (\S+)/.exec(made.body.status.kubeConfig)?.[1] ?? "";
      expect(await inside(token)).toEqual([200, 200]);
      expect((await decide(round + 1, "carl", name, "Revoke")).status).toBe(201);
      expect([await inside(), await inside(token)]).toEqual([
        [403, 403],
        [401, 401],
      ]);
    }
  });

  it("agree on the labels that a key selects by, from the answer to their change on", async () => {
    const selector = { matchLabels: { env: "dev" } };
    const scope = { virtualClusters: [{ project: "default", selector }] };
    const { spec } = await at(0).must({ path: "ownedaccesskeys", body: { metadata: {}, spec: { scope } } });
    const label = (turn: number, env: string) =>
      at(turn).must({
        method: "PATCH",
        headers: MERGE,
        path: "namespaces/p-default/virtualclusterinstances/demo",
        body: { metadata: { labels: { env } } },
      });
    expect(await inside(spec.key)).toEqual([403, 403]);
    for (let round = 0; round < ROUNDS; round++) {
      await label(round, "dev");
      expect(await inside(spec.key)).toEqual([200, 200]);
      await label(round + 1, "prod");
      expect(await inside(spec.key)).toEqual([403, 403]);
    }
  });

  it("agree on one outcome of decisions that come to both at once", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = await ask(round);
      const answers = await Promise.all([
        decide(0, "carl", name, "Approve"),
        decide(1, "carl", name, "Approve"),
        decide(1, "dora", name, "Approve"),
        decide(0, "dora", name, "Deny"),
        decide(round, "ann", name, "Withdraw"),
      ]);
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
      const [one, other] = await Promise.all(clients.map((client) => client.must({ path: `accessrequests/${name}` })));
      expect(one.status).toEqual(other.status);
      const approvers = one.status.approvals.map(({ user }: { user: string }) => user);
      // Each person once.
      expect(new Set(approvers).size).toBe(approvers.length);
      expect(["Withdrawn", "Denied"]).toContain(one.status.phase);
      expect(await inside()).toEqual([403, 403]);
    }
  });
});
