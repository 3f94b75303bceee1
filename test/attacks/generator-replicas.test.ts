// Kubeconfig generators of two servers on one etcd: one of them acts, none makes a key twice, and the other goes on where the first has gone.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type PosternProcess, startPostern } from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { attackerOf, MERGE } from "./testing/attacking.ts";

const SPACE = "p-shop";
const GENERATORS = `namespaces/${SPACE}/kubeconfiggenerators`;
const INSTANCES = `namespaces/${SPACE}/virtualclusterinstances`;
const SECRETS = `/api/v1/namespaces/${SPACE}/secrets`;
const CLUSTERS = ["one", "two", "three"] as const;
const WAIT = { timeout: 60_000, interval: 50 };

type Client = Awaited<ReturnType<typeof attackerOf>>;

describe.skipIf(whyNoEtcd() !== undefined)("kubeconfig generators of two servers", () => {
  let two: TwoOnEtcd<PosternProcess>;
  let clients: readonly [Client, Client];
  let ann: string;

  beforeAll(async () => {
    two = await startTwoOnEtcd(startPostern, ["--failed-logins-per-minute", "0", "--audit-log-mode", "blocking"]);
    const first = await attackerOf(two.servers[0]);
    clients = [first, await attackerOf(two.servers[1], first.admin)];
    ann = await first.user("ann");
    const members = [{ kind: "User", name: "ann", clusterRole: "postern:project-admin" }];
    await first.must({
      path: "projects",
      body: { metadata: { name: "shop" }, spec: { allowedClusters: [{ name: "embedded" }], members } },
    });
    for (const [at, name] of CLUSTERS.entries())
      await client(at).must({
        path: INSTANCES,
        body: { metadata: { name, labels: { env: "dev" } }, spec: { owner: { user: "admin" } } },
      });
  });
  afterAll(() => two?.[Symbol.asyncDispose]());

  const client = (turn: number): Client => clients[turn % 2] ?? clients[0];
  const stateOf = async (name: string, turn = 0): Promise<any> =>
    await client(turn).must({ path: `${GENERATORS}/${name}` });
  const isCurrent = async (name: string, count: number, turn = 0): Promise<boolean> => {
    const { metadata, status } = await stateOf(name, turn);
    const ready = status?.conditions?.find(({ type }: any) => type === "Ready");
    return status?.observedGeneration === metadata.generation && status.selected === count && ready?.status === "True";
  };
  const tokensOf = async (name: string, turn = 0): Promise<readonly string[]> => {
    const { status, body } = await client(turn).send({ path: `${SECRETS}/${name}` });
    const text = status === 200 ? Buffer.from(body.data.config, "base64").toString() : "";
    return [...text.matchAll(/token: (\S+)/g)].map(([, token = ""]) => token);
  };
  /** Keys that were made with the generator's, by the virtual cluster that they are for. */
  const madeBy = async (name: string): Promise<{ readonly [cluster: string]: number }> => {
    const { status } = await stateOf(name);
    const { metadata } = await client(0).must({ path: `ownedaccesskeys/${status.accessKey}` });
    const { items } = await client(0).must({ path: "ownedaccesskeys", as: ann });
    const made = items.filter((key: any) => key.metadata.ownerReferences?.some(({ uid }: any) => uid === metadata.uid));
    const counts: { [cluster: string]: number } = {};
    for (const { spec } of made) {
      const [{ virtualCluster }] = spec.scope.virtualClusters;
      counts[virtualCluster] = (counts[virtualCluster] ?? 0) + 1;
    }
    return counts;
  };
  /** The servers whose audit logs have credentials of the generator, by their number. */
  const actorsOf = async (name: string): Promise<readonly number[]> => {
    const logs = await Promise.all(two.servers.map(({ dataDir }) => readFile(join(dataDir, "audit.log"), "utf8")));
    return logs.flatMap((log, at) => (log.includes(`"kubeconfig-generator/name":"${SPACE}/${name}"`) ? [at] : []));
  };
  const generate = (name: string, turn: number) =>
    client(turn).send({
      path: GENERATORS,
      as: ann,
      body: { metadata: { name }, spec: { selector: { matchLabels: { env: "dev" } }, secretRef: { name } } },
    });
  /** How many virtual clusters each token opens on a server. */
  const opened = (tokens: readonly string[], turn: number): Promise<readonly number[]> =>
    Promise.all(
      tokens.map(async (as) => {
        const found = await Promise.all(
          CLUSTERS.map((name) =>
            client(turn).send({ path: `/kubernetes/project/shop/virtualcluster/${name}/api/v1/namespaces`, as }),
          ),
        );
        return found.filter(({ status }) => status === 200).length;
      }),
    );

  it("one of them makes one key for each virtual cluster, whichever was asked", async () => {
    const names = ["first", "second", "third", "fourth"];
    const made = await Promise.all(names.map((name, turn) => generate(name, turn)));
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    for (const [turn, name] of names.entries()) {
      await vi.waitUntil(() => isCurrent(name, CLUSTERS.length, turn), WAIT);
      expect(await madeBy(name)).toEqual({ one: 1, two: 1, three: 1 });
      const tokens = await tokensOf(name, turn);
      expect(tokens).toHaveLength(CLUSTERS.length);
      for (const at of [0, 1]) expect(await opened(tokens, at)).toEqual([1, 1, 1]);
    }
    const actors = await Promise.all(names.map(actorsOf));
    expect(new Set(actors.map(String)).size).toBe(1);
    expect(actors[0]).toHaveLength(1);
  });

  it("makes none twice while both servers change what it follows from", async () => {
    for (let round = 0; round < 6; round++) {
      const label = (turn: number, name: string, env: string) =>
        client(turn).must({
          path: `${INSTANCES}/${name}`,
          method: "PATCH",
          headers: MERGE,
          body: { metadata: { labels: { env } } },
        });
      const data = { data: { config: "" } };
      await Promise.all([
        label(round, "one", round % 2 === 0 ? "prod" : "dev"),
        label(round + 1, "two", "dev"),
        client(round + 1).send({ path: `${SECRETS}/first`, method: "PATCH", headers: MERGE, body: data }),
      ]);
      const count = round % 2 === 0 ? 2 : 3;
      await vi.waitUntil(async () => await isCurrent("first", count, round), WAIT);
      await vi.waitUntil(async () => (await tokensOf("first", round)).length === count, WAIT);
    }
    // Of each, the present one and the one before, which readers of the Secret may still have.
    const counts = await madeBy("first");
    for (const cluster of CLUSTERS) expect(counts[cluster]).toBeLessThanOrEqual(2);
    expect(await madeBy("second")).toMatchObject({ two: 1, three: 1 });
  });

  it("goes on on the other server when the one that acts is gone, with the keys that are there", async () => {
    const [actor = 0] = await actorsOf("second");
    await vi.waitUntil(() => isCurrent("second", CLUSTERS.length), WAIT);
    const before = await tokensOf("second");
    const counts = await madeBy("second");
    const server = two.servers[actor];
    const left = actor === 0 ? 1 : 0;
    clients = [client(left), client(left)];
    await server?.stop("SIGKILL");
    const made = await client(0).send({
      path: INSTANCES,
      body: { metadata: { name: "four", labels: { env: "dev" } }, spec: { owner: { user: "admin" } } },
    });
    expect(made.status, made.text).toBe(201);
    await vi.waitUntil(() => isCurrent("second", CLUSTERS.length + 1), WAIT);
    const after = await tokensOf("second");
    expect(after).toHaveLength(CLUSTERS.length + 1);
    expect(after).toEqual(expect.arrayContaining([...before]));
    expect(await madeBy("second")).toEqual({ ...counts, four: 1 });
    expect(await actorsOf("second")).toEqual([0, 1]);
  });
});
