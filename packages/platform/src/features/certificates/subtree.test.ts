// Everything that was made with a key, and with what was made with that, is in one list, and ends with it at once.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type PlatformCall, type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";

const DEMO = "namespaces/p-default/virtualclusterinstances/demo";
const INSIDE = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";

type Holder = { readonly what: string; readonly id: string; readonly call: PlatformCall };

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
  await platform.send({ method: "POST", path: "users", body: { metadata: { name: "jane" }, spec: {} } });
  await platform.send({
    method: "POST",
    path: "teams",
    body: { metadata: { name: "crew" }, spec: { users: ["jane"] } },
  });
  const members = ["User/jane", "Team/crew"].map((member) => {
    const [kind, name] = member.split("/");
    return { kind, name, clusterRole: "postern:project-user" };
  });
  await platform.send({ method: "PATCH", path: "projects/default", body: { spec: { members } } });
});
afterAll(() => platform[Symbol.asyncDispose]());

const idOf = (key: string): string => key.split("_")[1] ?? "";

async function newKey(name: string, spec: object): Promise<Holder & { readonly key: string }> {
  const { body } = await platform.send({ method: "POST", path: "ownedaccesskeys", body: { metadata: { name }, spec } });
  const { key } = body.spec;
  return { what: `key ${name}`, id: idOf(key), key, call: { path: INSIDE, key } };
}

async function newToken(what: string, key: string): Promise<Holder & { readonly key: string }> {
  const { body } = await platform.send({ method: "POST", path: `${DEMO}/kubeconfig`, key, body: { spec: {} } });
  const { token } = parse(body.status.kubeConfig).users[0].user;
  return { what, id: idOf(token), key: token, call: { path: INSIDE, key: token } };
}

async function newCertificate(what: string, key: string): Promise<Holder> {
  const before = new Set((await listOf(DEMO)).map(({ id }) => id));
  const { body } = await platform.send({
    method: "POST",
    path: `${DEMO}/kubeconfig`,
    key,
    body: { spec: { clientCert: true } },
  });
  const { user } = parse(body.status.kubeConfig).users[0];
  const text = (data: string) => Buffer.from(data, "base64").toString();
  const certificate = { cert: text(user["client-certificate-data"]), key: text(user["client-key-data"]) };
  const [made] = (await listOf(DEMO)).filter(({ id }) => !before.has(id));
  return { what, id: made?.id ?? "", call: { path: INSIDE, certificate } };
}

async function listOf(path: string): Promise<readonly { readonly id: string; readonly parents: readonly string[] }[]> {
  return (await platform.send({ path: `${path}/credentials` })).body.status.credentials;
}

/** A key of an owner; a token made with it; a token and a certificate made with that; a certificate made with the key. */
async function plant(name: string, spec: object): Promise<readonly Holder[]> {
  const root = await newKey(name, spec);
  const child = await newToken("token", root.key);
  const grandchild = await newToken("token of the token", child.key);
  const certificate = await newCertificate("certificate", root.key);
  const ofChild = await newCertificate("certificate of the token", child.key);
  return [root, child, grandchild, certificate, ofChild];
}

const accepted = async ({ call }: Holder): Promise<boolean> => (await platform.send(call)).status === 200;

describe.each<[string, string, object]>([
  ["a user's key", "users/jane", { user: "jane" }],
  ["a team's key", "teams/crew", { team: "crew" }],
])("the credentials that were created with %s", (_, owner, spec) => {
  const name = `root-of-${owner.replace("/", "-")}`;

  it("are all in the lists of the owner, the key and the virtual cluster, with their parents", async () => {
    const tree = await plant(name, spec);
    const [root = "", child = ""] = tree.map(({ id }) => id);
    const parents = [[], [root], [child], [root], [child]];
    for (const path of [owner, `ownedaccesskeys/${name}`, DEMO]) {
      const listed = new Map((await listOf(path)).map((entry) => [entry.id, entry]));
      for (const [at, { id, what }] of tree.entries()) {
        // A key that reaches further than one virtual cluster is not among the credentials of that.
        if (path === DEMO && at === 0) continue;
        expect([path, what, listed.get(id)?.parents]).toEqual([path, what, parents[at]]);
      }
    }
    expect(await Promise.all(tree.map(accepted))).toEqual(tree.map(() => true));
    await platform.send({ method: "DELETE", path: `ownedaccesskeys/${name}` });
  });

  it.each([
    ["the root of them", 0, [0, 1, 2, 3, 4]],
    ["a token among them", 1, [1, 2, 4]],
    ["a certificate among them", 3, [3]],
  ])("end with %s, and only those", async (_what, revoked, ended) => {
    const tree = await plant(name, spec);
    const bystander = await newKey(`bystander-${owner.replace("/", "-")}`, spec);
    const lastAccepted = new Map<Holder, number>();
    let isOver = false;
    const tries = tree.map(async (holder) => {
      while (!isOver) {
        const askedAt = performance.now();
        if (await accepted(holder)) lastAccepted.set(holder, askedAt);
      }
    });
    // All of them are in use when it happens.
    while (lastAccepted.size < tree.length) await new Promise((resolve) => setImmediate(resolve));
    const ids = [tree[revoked]?.id];
    const answer = await platform.send({
      method: "POST",
      path: `${owner}/credentials`,
      body: { spec: { revoke: ids } },
    });
    const answeredAt = performance.now();
    expect(answer.status).toBe(201);
    const after = await Promise.all([...tree, bystander].map(accepted));
    expect(after).toEqual([0, 1, 2, 3, 4, 5].map((at) => !ended.includes(at)));
    isOver = true;
    await Promise.all(tries);
    const late = ended.map((at) => (lastAccepted.get(tree[at] as Holder) ?? 0) - answeredAt);
    process.stdout.write(
      `${ended.length} credentials revoked: the last accepted request was sent ${(-Math.max(...late)).toFixed(1)} ms before the answer\n`,
    );
    expect(Math.max(...late)).toBeLessThan(0);
    const listed = (await listOf(owner)).map(({ id }) => id);
    for (const at of ended) expect(listed).not.toContain(tree[at]?.id);
    for (const key of [name, bystander.what.replace("key ", "")]) {
      await platform.send({ method: "DELETE", path: `ownedaccesskeys/${key}` });
    }
  });
});
