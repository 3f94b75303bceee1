// A key that selects virtual clusters by their labels reaches those that match now: never more than its owner, and nothing that it labels itself.

import { startPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";

let platform: Awaited<ReturnType<typeof startPlatform>>;
/** Keys of ann, who is an administrator of the project. */
let byLabels: string;
let ofBob: string;

const INSTANCES = "namespaces/p-default/virtualclusterinstances";
const inside = (name: string, path = "api/v1/namespaces"): string =>
  `/kubernetes/project/default/virtualcluster/${name}/${path}`;
const scoped = (selector: object, more: object = {}) => ({
  virtualClusters: [{ project: "default", selector, ...more }],
});
const DEV = { matchLabels: { env: "dev" } };

const keyOf = async (user: string, scope: object): Promise<string> =>
  (await platform.create("ownedaccesskeys", { metadata: { generateName: "k-" }, spec: { user, scope } })).spec.key;
const label = async (name: string, env: string | null): Promise<void> => {
  const body = { metadata: { labels: { env } } };
  expect((await platform.send({ method: "PATCH", path: `${INSTANCES}/${name}`, body })).status).toBe(200);
};
const statusOf = async (path: string, key: string): Promise<number> => (await platform.send({ path, key })).status;
const listed = async (key: string): Promise<readonly string[]> => {
  const { body } = await platform.send({ path: INSTANCES, key });
  return body.items.map((item: any) => item.metadata.name);
};

beforeAll(async () => {
  platform = await startPlatform();
  for (const name of ["ann", "bob"]) await platform.create("users", { metadata: { name }, spec: {} });
  const role = { kind: "User", name: "ann", clusterRole: "postern:project-admin" };
  const members = { method: "PATCH", path: "projects/default", body: { spec: { members: [role] } } };
  expect((await platform.send(members)).status).toBe(200);
  for (const [name, env, user] of [
    ["one", "dev", "ann"],
    ["two", "prod", "ann"],
    ["bobs", "prod", "bob"],
  ] as const)
    await platform.create(INSTANCES, { metadata: { name, labels: { env } }, spec: { owner: { user } } });
  byLabels = await keyOf("ann", scoped(DEV));
  ofBob = await keyOf("bob", scoped({ matchExpressions: [{ key: "env", operator: "Exists" }] }));
});
afterAll(() => platform?.[Symbol.asyncDispose]());

describe("a key that selects virtual clusters by labels", () => {
  it("reaches those that match now, at once, in every way", async () => {
    expect(await listed(byLabels)).toEqual(["one"]);
    for (const [name, status] of [
      ["one", 200],
      ["two", 403],
      ["none", 403],
    ] as const) {
      expect(await statusOf(`${INSTANCES}/${name}`, byLabels)).toBe(status);
      expect(await statusOf(inside(name), byLabels)).toBe(status);
    }
    await label("two", "dev");
    await label("one", null);
    expect(await listed(byLabels)).toEqual(["two"]);
    expect([await statusOf(inside("one"), byLabels), await statusOf(inside("two"), byLabels)]).toEqual([403, 200]);
    await label("one", "dev");
    await label("two", "prod");
    expect([await statusOf(inside("one"), byLabels), await statusOf(inside("two"), byLabels)]).toEqual([200, 403]);
  });

  it("loses its open streams with the label, and sees in a watch what comes and goes", async () => {
    const pods = await platform.open({
      path: `${inside("one", "api/v1/pods")}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      key: byLabels,
    });
    expect(pods.status).toBe(200);
    const clusters = await platform.open({ path: `${INSTANCES}?watch=1`, key: byLabels });
    const seen = (): readonly string[] =>
      clusters
        .text()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line))
        .filter(({ type }) => type !== "MODIFIED" && type !== "BOOKMARK")
        .map(({ type, object }) => `${type} ${object.metadata.name}`);
    await expect.poll(seen).toEqual(["ADDED one"]);
    await label("two", "dev");
    await expect.poll(seen).toEqual(["ADDED one", "ADDED two"]);
    await label("one", "prod");
    await expect.poll(seen).toEqual(["ADDED one", "ADDED two", "DELETED one"]);
    await pods.ended;
    await label("one", "dev");
    await label("two", "prod");
    await expect.poll(seen).toEqual(["ADDED one", "ADDED two", "DELETED one", "ADDED one", "DELETED two"]);
  });

  it("gives kubeconfigs that work while the virtual cluster matches, and no certificates", async () => {
    const answer = await platform.send({ path: `${INSTANCES}/one/kubeconfig`, key: byLabels, body: { spec: {} } });
    expect(answer.status, answer.text).toBe(201);
    const { token } = parse(answer.body.status.kubeConfig).users[0].user;
    const [made] = (await platform.send({ path: "ownedaccesskeys" })).body.items.filter(
      ({ metadata }: any) => metadata.generateName === "default-one-",
    );
    expect(made.spec.scope.virtualClusters).toEqual([{ project: "default", virtualCluster: "one", selector: DEV }]);
    expect([await statusOf(inside("one"), token), await statusOf(inside("two"), token)]).toEqual([200, 401]);
    await label("one", "prod");
    await label("two", "dev");
    // The token has no other audience.
    expect([await statusOf(inside("one"), token), await statusOf(inside("two"), token)]).toEqual([403, 401]);
    await label("one", "dev");
    await label("two", "prod");
    expect(await statusOf(inside("one"), token)).toBe(200);
    const certificate = { spec: { clientCert: true } };
    const refused = await platform.send({ path: `${INSTANCES}/one/kubeconfig`, key: byLabels, body: certificate });
    expect([refused.status, refused.body.message]).toEqual([403, expect.stringContaining("your access key does not")]);
  });

  it("takes its kubeconfigs along when its selector changes", async () => {
    const parent = await platform.create("ownedaccesskeys", {
      metadata: { name: "moved" },
      spec: { user: "ann", scope: scoped(DEV) },
    });
    const path = `${INSTANCES}/one/kubeconfig`;
    const answer = await platform.send({ path, key: parent.spec.key, body: { spec: {} } });
    const { token } = parse(answer.body.status.kubeConfig).users[0].user;
    expect(await statusOf(inside("one"), token)).toBe(200);
    const change = (selector: object) =>
      platform.send({ method: "PATCH", path: "ownedaccesskeys/moved", body: { spec: { scope: scoped(selector) } } });
    // A selector for dev lies within it.
    expect((await change({ matchExpressions: [{ key: "env", operator: "NotIn", values: ["prod"] }] })).status).toBe(
      200,
    );
    expect(await statusOf(inside("one"), token)).toBe(200);
    expect((await change({ matchLabels: { env: "dev", tier: "web" } })).status).toBe(200);
    expect(await statusOf(inside("one"), token)).toBe(401);
  });

  it("never reaches more than its owner, by labels of any writer", async () => {
    expect(await listed(ofBob)).toEqual(["bobs"]);
    expect(await statusOf(inside("one"), ofBob)).toBe(403);
    await label("two", "mine");
    expect(await statusOf(inside("two"), ofBob)).toBe(403);
    await label("two", "prod");
  });

  it("writes no labels, nor what it lacks to write them", async () => {
    for (const name of ["one", "two"]) {
      const change = { method: "PATCH", path: `${INSTANCES}/${name}`, body: { metadata: { labels: { env: "dev" } } } };
      expect((await platform.send({ ...change, key: byLabels })).status).toBe(403);
    }
    const wider = { metadata: { name: "wider" }, spec: { user: "ann" } };
    expect((await platform.send({ path: "ownedaccesskeys", key: byLabels, body: wider })).status).toBe(403);
  });

  it("shows in a review of rules the virtual clusters that match", async () => {
    const review = await platform.send({
      path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
      key: byLabels,
      body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace: "p-default" } },
    });
    const rules = review.body.status.resourceRules.filter(({ verbs }: any) => verbs.includes("use"));
    expect(new Set(rules.flatMap(({ resourceNames }: any) => resourceNames))).toEqual(new Set(["one"]));
  });

  it.each([
    ["an empty selector", scoped({}), "spec.scope.virtualClusters[0].selector: Required value"],
    ["a star beside it", scoped(DEV, { virtualCluster: "*" }), "must be one name, or unset, beside a selector"],
    [
      "an unknown operator",
      scoped({ matchExpressions: [{ key: "env", operator: "Above", values: ["1"] }] }),
      "not a valid selector operator",
    ],
    ["no project", { virtualClusters: [{ selector: DEV }] }, "spec.scope.virtualClusters[0].project: Required value"],
    [
      "selectors that are long together",
      {
        virtualClusters: [0, 1].map((at) => ({
          project: "default",
          selector: {
            matchExpressions: [
              { key: "env", operator: "In", values: Array.from({ length: 100 }, (_, value) => `v${at}-${value}`) },
            ],
          },
        })),
      },
      "the selectors have 202 keys and values together, and at most 100 are allowed",
    ],
  ])("is refused with %s", async (_what, scope, message) => {
    const body = { metadata: { name: "refused" }, spec: { user: "ann", scope } };
    const answer = await platform.send({ path: "ownedaccesskeys", body });
    expect([answer.status, answer.body.message]).toEqual([422, expect.stringContaining(message)]);
  });
});
