// A client that loses a right keeps nothing open that the right gave: every way of losing it, against every kind of stream.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { everyCase, namedCasesOf } from "../../tools/test-cost/by-night.ts";
import {
  ALL,
  bindingOf,
  clusterRole,
  KINDS,
  type Kind,
  type KindName,
  keyPath,
  LOSSES,
  member,
  setMembers,
  through,
  userPath,
} from "./testing/losses.ts";
import { type OpenStream, openHttp1, openSpdy, openWebSocket, type StreamOpener } from "./testing/open-streams.ts";
import {
  createRightsWorld,
  keepSecret,
  MANAGEMENT,
  object,
  PLATFORM,
  podKubeconfig,
  RBAC,
  type RightsServer,
  startRightsServer,
} from "./testing/rights-world.ts";

/** Far beyond what it takes, and far below what clients would wait. */
const LIMIT_MS = 10_000;
const WAIT = { timeout: 60_000, interval: 20 };

/** Of each sort of loss: of a role, a binding, what an instance or project says, the key, the user, the target, and what one may act as. */
const LOSSES_BY_DAY: readonly string[] = [
  "a member is removed from the project",
  "the team is deleted",
  "a member's role is lowered to viewer",
  "a bound ClusterRole loses its rules",
  "a RoleBinding is deleted",
  "a user loses the group that a RoleBinding names",
  "an entry of spec.access is removed",
  "an instance's owning team loses the user",
  "the project gets another owner",
  "the key's scope is narrowed",
  "the key is disabled",
  "the key's time ends",
  "the key is rotated",
  "the user is locked",
  "the instances are made again under their names",
  "the Secret of an external cluster is replaced",
  "the user who is impersonated loses the right",
];

/** Every kind for every loss by night; by day one of each of two groups, which are others with the next loss. */
const GROUPS = [/^watch/, /^filtered/, /^embedded/, /^remote|^log/, /^exec|^attach|^port/];
const GROUPS_BY_DAY = 2;
function someOf(kinds: readonly KindName[], turn: number): readonly KindName[] {
  if (everyCase) return kinds;
  const groups = GROUPS.map((group) => kinds.filter((kind) => group.test(kind))).filter(({ length }) => length > 0);
  const chosen = Array.from({ length: GROUPS_BY_DAY }, (_, at) => groups[(turn + at) % groups.length] ?? []);
  return [...new Set(chosen.flatMap((members) => members.slice(turn % members.length).slice(0, 1)))];
}

let server: RightsServer;
beforeAll(async () => {
  server = await startRightsServer();
});
afterAll(() => server?.[Symbol.asyncDispose]());

const after = (milliseconds: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), milliseconds));

/** When a filtered watch has told that the object is gone, or any stream has ended. */
async function cutAt(name: KindName, stream: OpenStream, timeout: Promise<undefined>): Promise<number | undefined> {
  const told = async (): Promise<number> => {
    while (!stream.text().includes('"type":"DELETED"')) await after(2);
    return performance.now();
  };
  return await Promise.race([stream.ended, timeout, ...(name === "filtered watch" ? [told()] : [])]);
}

const times: { readonly what: string; readonly slowest: number }[] = [];

describe("open connections are closed (security book 3, 13, 15)", () => {
  it.concurrent.each(namedCasesOf(LOSSES, ({ what }) => what, LOSSES_BY_DAY))("when $what", async (loss) => {
    const { grant, lose, reopens = [], what } = loss;
    const kinds = someOf(loss.kinds ?? ALL, LOSSES.indexOf(loss));
    const world = await createRightsWorld(server);
    const { key, headers = {} } = (await grant(world)) ?? { key: world.key };
    const open = async (name: KindName): Promise<OpenStream> => {
      const kind: Kind = KINDS[name];
      return await kind.open(server.process, { path: kind.path(world), key, headers });
    };
    const streams = new Map<KindName, OpenStream>();
    for (const name of kinds) {
      const stream = await open(name);
      expect([200, 101], name).toContain(stream.status);
      streams.set(name, stream);
    }
    await lose(world);
    const answeredAt = performance.now();
    const timeout = after(LIMIT_MS);
    const cut: [KindName, number | undefined][] = [];
    for (const [name, stream] of streams) cut.push([name, await cutAt(name, stream, timeout)]);
    for (const stream of streams.values()) stream.close();
    const lasting = cut.filter(([, at]) => at === undefined).map(([name]) => name);
    expect(lasting, "still open").toEqual([]);
    times.push({ what, slowest: Math.max(0, ...cut.map(([, at = 0]) => at - answeredAt)) });
    const again: KindName[] = [];
    for (const name of kinds.filter((each) => !reopens.includes(each))) {
      const stream = await open(name);
      stream.close();
      // Anybody may ask for a filtered list, which then is empty.
      if (stream.status < 300 && (name !== "filtered watch" || stream.text().includes("uid"))) again.push(name);
    }
    expect(again, "opened again").toEqual([]);
  });

  afterAll(() => {
    for (const { what, slowest } of times.toSorted((a, b) => b.slowest - a.slowest)) {
      process.stdout.write(`until the last of its streams was cut: ${slowest.toFixed(1).padStart(7)} ms, ${what}\n`);
    }
  });
});

it("connections of others stay open (security book 3, 15)", async () => {
  const [world, other] = [await createRightsWorld(server), await createRightsWorld(server)];
  await setMembers(world, member(world, "postern:project-viewer"), member(other));
  await setMembers(other, member(other));
  const kinds = ALL;
  const open = (name: KindName): Promise<OpenStream> =>
    KINDS[name].open(server.process, { path: KINDS[name].path(world), key: other.key });
  const streams = await Promise.all(kinds.map(open));
  const ended: KindName[] = [];
  for (const [at, stream] of streams.entries()) void stream.ended.then(() => ended.push(kinds[at] ?? "log"));
  const role = `${RBAC}/clusterroles/of-others`;
  await server.send(`${RBAC}/clusterroles`, clusterRole("of-others"));
  await server.send(`${RBAC}/clusterrolebindings`, {
    ...bindingOf("of-others", "of-others", "User", world.user),
    kind: "ClusterRoleBinding",
  });
  await world.patch(role, { rules: [] });
  await setMembers(world, member(other));
  await world.patch(keyPath(world), { spec: { disabled: true } });
  await world.remove(userPath(world));
  await keepSecret(server, "default", "of-others");
  await world.patch(`${other.instances}/in`, { spec: { access: [{ verbs: ["*"], users: ["*"] }] } });
  await world.patch(`${world.instances}/in`, { spec: { displayName: "changed" } });
  // A raised role takes nothing away.
  await setMembers(world, member(other, "postern:project-admin"));
  const map = { metadata: { name: "last" } };
  await server.send(`${through(world, "in")}/api/v1/namespaces/default/configmaps`, map);
  const inside = streams[ALL.indexOf("embedded watch, HTTP/1.1")] ?? expect.unreachable();
  await vi.waitFor(() => expect(inside.text()).toContain('"last"'), WAIT);
  expect(ended.filter((name) => name !== "filtered watch")).toEqual([]);
  for (const stream of streams) stream.close();
});

describe("a connected cluster", () => {
  it.each<[string, (name: string) => Promise<unknown>]>([
    [
      "its Secret is replaced",
      (name) =>
        server.send(
          `${MANAGEMENT}/api/v1/namespaces/default/secrets/${name}`,
          { stringData: { config: podKubeconfig(server, "another-credential") } },
          "PATCH",
        ),
    ],
    ["it is deleted", (name) => server.send(`${PLATFORM}/clusters/${name}`, undefined, "DELETE")],
    [
      "its kubeconfig is taken from another Secret",
      (name) =>
        server.send(
          `${PLATFORM}/clusters/${name}`,
          { spec: { kubeConfigRef: { secretNamespace: "default", secretName: "missing" } } },
          "PATCH",
        ),
    ],
    ["the right to use it is lost", (name) => server.send(`${RBAC}/clusterrolebindings/${name}`, undefined, "DELETE")],
  ])("is cut off when %s (security book 3, 15)", async (what, lose) => {
    const name = `host-${what.toLowerCase().replaceAll(" ", "-")}`;
    await keepSecret(server, "default", name);
    const kubeConfigRef = { secretNamespace: "default", secretName: name };
    await server.send(`${PLATFORM}/clusters`, object("Cluster", name, { kubeConfigRef }));
    await server.send(`${PLATFORM}/users`, object("User", name));
    const { spec } = await server.send(`${PLATFORM}/ownedaccesskeys`, object("OwnedAccessKey", name, { user: name }));
    const rules = [
      { verbs: ["use"], apiGroups: ["management.postern"], resources: ["clusters"], resourceNames: [name] },
    ];
    await server.send(`${RBAC}/clusterroles`, clusterRole(name, rules));
    await server.send(`${RBAC}/clusterrolebindings`, {
      ...bindingOf(name, name, "User", name),
      kind: "ClusterRoleBinding",
    });
    const base = `/kubernetes/cluster/${name}/api/v1/namespaces/default/pods`;
    const paths: [StreamOpener, string][] = [
      [openHttp1, `${base}?watch=1`],
      [openHttp1, `${base}/web/log?follow=true`],
      [openWebSocket, `${base}/web/exec?command=cat&stdin=true&stdout=true`],
      [openSpdy, `${base}/web/exec?command=cat&stdin=true&stdout=true`],
    ];
    const streams = await Promise.all(paths.map(([open, path]) => open(server.process, { path, key: spec.key })));
    for (const { status } of streams) expect([200, 101]).toContain(status);
    await lose(name);
    const timeout = after(LIMIT_MS);
    const ended = await Promise.all(streams.map((stream) => Promise.race([stream.ended, timeout])));
    for (const stream of streams) stream.close();
    expect(ended.map((at) => at === undefined)).toEqual([false, false, false, false]);
  });
});
