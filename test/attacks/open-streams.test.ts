// Whoever loses a right keeps nothing open that it gave: every way of losing it, against every kind of stream.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  type OpenStream,
  openHttp1,
  openHttp2,
  openHttp2Socket,
  openSpdy,
  openWebSocket,
  type StreamOpener,
} from "./testing/open-streams.ts";
import {
  createRightsWorld,
  keepSecret,
  MANAGEMENT,
  object,
  PLATFORM,
  podKubeConfig,
  RBAC,
  type RightsServer,
  type RightsWorld,
  startRightsServer,
  whenReady,
} from "./testing/rights-world.ts";

/** Far beyond what it takes, and far below what clients would wait. */
const LIMIT_MS = 10_000;
const WAIT = { timeout: 60_000, interval: 20 };

type Kind = { readonly open: StreamOpener; readonly path: (world: RightsWorld) => string };

const through = ({ project }: RightsWorld, name: string): string =>
  `/kubernetes/project/${project}/virtualcluster/${name}`;
const embedded = (world: RightsWorld): string => `${through(world, "in")}/api/v1/namespaces/default/configmaps?watch=1`;
const pod = (world: RightsWorld): string => `${through(world, "out")}/api/v1/namespaces/default/pods/web`;
const exec = (world: RightsWorld): string => `${pod(world)}/exec?command=cat&stdin=true&stdout=true`;
const remoteWatch = (world: RightsWorld): string => `${through(world, "out")}/api/v1/namespaces/default/pods?watch=1`;
const events = ({ namespace }: RightsWorld): string => `${MANAGEMENT}/api/v1/namespaces/${namespace}/events?watch=1`;

// biome-ignore format: a table
const KINDS = {
  "watch, HTTP/1.1":             { open: openHttp1,       path: events },
  "watch, HTTP/2":               { open: openHttp2,       path: events },
  "watch, WebSocket":            { open: openWebSocket,   path: events },
  "filtered watch":              { open: openHttp1,       path: ({ instances }) => `${instances}?watch=1` },
  "embedded watch, HTTP/1.1":    { open: openHttp1,       path: embedded },
  "embedded watch, HTTP/2":      { open: openHttp2,       path: embedded },
  "embedded watch, WebSocket":   { open: openWebSocket,   path: embedded },
  "embedded watch, RFC 8441":    { open: openHttp2Socket, path: embedded },
  "remote watch, HTTP/1.1":      { open: openHttp1,       path: remoteWatch },
  "remote watch, HTTP/2":        { open: openHttp2,       path: remoteWatch },
  "log":                         { open: openHttp1,       path: (world) => `${pod(world)}/log?follow=true` },
  "exec, WebSocket":             { open: openWebSocket,   path: exec },
  "exec, SPDY":                  { open: openSpdy,        path: exec },
  "exec, RFC 8441":              { open: openHttp2Socket, path: exec },
  "attach, SPDY":                { open: openSpdy,        path: (world) => `${pod(world)}/attach?stdin=true` },
  "port-forward, SPDY":          { open: openSpdy,        path: (world) => `${pod(world)}/portforward` },
} satisfies Record<string, Kind>;
type KindName = keyof typeof KINDS;

const ALL = Object.keys(KINDS) as KindName[];
/** Every kind for every loss by night; otherwise one of each group, another one with each loss. */
const IS_WHOLE = process.env["ATTACK_STREAMS"] === "all";
const GROUPS = [/^watch/, /^filtered/, /^embedded/, /^remote|^log/, /^exec|^attach|^port/];
const someOf = (kinds: readonly KindName[], turn: number): readonly KindName[] =>
  IS_WHOLE
    ? kinds
    : GROUPS.flatMap((group) => {
        const members = kinds.filter((kind) => group.test(kind));
        return members.length === 0 ? [] : members.slice(turn % members.length).slice(0, 1);
      });
const named = (pattern: RegExp): readonly KindName[] => ALL.filter((name) => pattern.test(name));
const INSIDE = named(/embedded|remote|log|exec|attach|forward/);
const EMBEDDED = named(/embedded/);
const REMOTE = named(/remote|log|exec|attach|forward/);

type Login = { readonly key: string; readonly headers?: { readonly [name: string]: string } };

type Loss = {
  readonly what: string;
  /** What is open; absent: everything. */
  readonly kinds?: readonly KindName[];
  /** Gives the right. Resolves with the credential, where it is not the user's key. */
  readonly grant: (world: RightsWorld) => Promise<Login | undefined>;
  readonly lose: (world: RightsWorld) => Promise<unknown>;
  /** Absent: nothing that was open may be opened again. */
  readonly reopens?: readonly KindName[];
};

const member = (world: RightsWorld, clusterRole = "postern:project-user", kind = "User") => ({
  kind,
  name: kind === "User" ? world.user : world.team,
  clusterRole,
});
const setMembers = (world: RightsWorld, ...members: readonly object[]) =>
  world.patch(world.projectPath, { spec: { members } });
const asMember = async (world: RightsWorld): Promise<undefined> => {
  await setMembers(world, member(world));
};
const asTeam = async (world: RightsWorld): Promise<undefined> => {
  await setMembers(world, member(world, "postern:project-user", "Team"));
};
const everyInstance = async (world: RightsWorld, spec: object): Promise<undefined> => {
  for (const name of ["in", "out"]) await world.patch(`${world.instances}/${name}`, { spec });
};
const PROJECT_RULES = [
  { verbs: ["get", "list", "watch", "use"], apiGroups: ["management.postern"], resources: ["virtualclusterinstances"] },
  { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["events"] },
];
const clusterRole = (name: string, rules: readonly object[] = PROJECT_RULES) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules,
});
const bindingOf = (name: string, role: string, kind: "User" | "Group", subject: string) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  metadata: { name },
  subjects: [{ kind, apiGroup: "rbac.authorization.k8s.io", name: subject }],
  roleRef: { kind: "ClusterRole", apiGroup: "rbac.authorization.k8s.io", name: role },
});
const rolesOf = (world: RightsWorld) => `${RBAC}/clusterroles/role-${world.user}`;
const roleBindings = (world: RightsWorld) => `${RBAC}/namespaces/${world.namespace}/rolebindings`;

/** By a ClusterRole that is bound in the project's namespace. Inside, RBAC gives nothing: `everybody` does. */
const byBinding = async (world: RightsWorld, kind: "User" | "Group" = "User", subject = world.user) => {
  await world.server.send(`${RBAC}/clusterroles`, clusterRole(`role-${world.user}`));
  const given = bindingOf(`b-${world.user}`, `role-${world.user}`, kind, subject);
  await world.server.send(roleBindings(world), { ...given, kind: "RoleBinding" });
  await everyInstance(world, { extraAccessRules: [{ users: [world.user], clusterRole: "edit" }] });
  return undefined;
};
const keyPath = ({ keyName }: RightsWorld): string => `${PLATFORM}/ownedaccesskeys/${keyName}`;
const userPath = ({ user }: RightsWorld): string => `${PLATFORM}/users/${user}`;
const teamPath = ({ team }: RightsWorld): string => `${PLATFORM}/teams/${team}`;

/** A key of the administrator's that acts as the user. */
const asImpersonator = async (world: RightsWorld): Promise<Login> => {
  await asMember(world);
  const actor = `actor-${world.user}`;
  await world.server.send(`${PLATFORM}/users`, object("User", actor));
  const rules = [
    { verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: [world.user] },
    { verbs: ["impersonate"], apiGroups: [""], resources: ["groups"], resourceNames: [`postern:user:${world.user}`] },
  ];
  await world.server.send(`${RBAC}/clusterroles`, clusterRole(actor, rules));
  const binding = { ...bindingOf(actor, actor, "User", actor), kind: "ClusterRoleBinding" };
  await world.server.send(`${RBAC}/clusterrolebindings`, binding);
  const made = await world.server.send(`${PLATFORM}/ownedaccesskeys`, object("OwnedAccessKey", actor, { user: actor }));
  const headers = { "impersonate-user": world.user, "impersonate-group": `postern:user:${world.user}` };
  return { key: made.spec.key, headers };
};

const LOSSES: readonly Loss[] = [
  { what: "a member is removed from the project", grant: asMember, lose: (world) => setMembers(world) },
  { what: "a team is removed from the project", grant: asTeam, lose: (world) => setMembers(world) },
  {
    what: "the user is removed from the team",
    grant: asTeam,
    lose: (world) => world.patch(teamPath(world), { spec: { users: [] } }),
  },
  { what: "the team is deleted", grant: asTeam, lose: (world) => world.remove(teamPath(world)) },
  {
    what: "a member's role is lowered to viewer",
    kinds: INSIDE,
    grant: asMember,
    lose: (world) => setMembers(world, member(world, "postern:project-viewer")),
  },
  {
    what: "a project admin becomes a project user",
    kinds: REMOTE,
    grant: async (world) => {
      await setMembers(world, member(world, "postern:project-admin"));
      return undefined;
    },
    lose: (world) => setMembers(world, member(world)),
    reopens: REMOTE,
  },
  {
    what: "the ClusterRole of a member loses its rules",
    grant: async (world) => {
      await world.server.send(`${RBAC}/clusterroles`, clusterRole(`role-${world.user}`));
      await setMembers(world, member(world, `role-${world.user}`));
      return await everyInstance(world, { extraAccessRules: [{ users: [world.user], clusterRole: "edit" }] });
    },
    lose: (world) => world.patch(rolesOf(world), { rules: [] }),
  },
  {
    what: "a bound ClusterRole loses its rules",
    grant: (world) => byBinding(world),
    lose: (world) => world.patch(rolesOf(world), { rules: [] }),
  },
  {
    what: "a bound ClusterRole is deleted",
    grant: (world) => byBinding(world),
    lose: (world) => world.remove(rolesOf(world)),
  },
  {
    what: "a RoleBinding is deleted",
    grant: (world) => byBinding(world),
    lose: (world) => world.remove(`${roleBindings(world)}/b-${world.user}`),
  },
  {
    what: "a RoleBinding loses its subject",
    grant: (world) => byBinding(world),
    lose: (world) => world.patch(`${roleBindings(world)}/b-${world.user}`, { subjects: [] }),
  },
  {
    what: "a user loses the group that a RoleBinding names",
    grant: async (world) => {
      await world.patch(userPath(world), { spec: { groups: ["auditors"] } });
      return await byBinding(world, "Group", "auditors");
    },
    lose: (world) => world.patch(userPath(world), { spec: { groups: [] } }),
  },
  {
    what: "an entry of spec.access is removed",
    kinds: [...INSIDE, "filtered watch"],
    grant: (world) =>
      everyInstance(world, {
        access: [{ verbs: ["get", "use"], subresources: [], users: [world.user] }],
        extraAccessRules: [{ users: [world.user], clusterRole: "edit" }],
      }),
    lose: (world) => everyInstance(world, { access: [] }),
  },
  {
    what: "an entry of spec.extraAccessRules is removed",
    kinds: INSIDE,
    grant: async (world) => {
      await everyInstance(world, {
        access: [{ verbs: ["get", "use"], subresources: [], users: [world.user] }],
        extraAccessRules: [{ users: [world.user], clusterRole: "edit" }],
      });
      return undefined;
    },
    lose: (world) => everyInstance(world, { extraAccessRules: [] }),
    // There, the cluster decides what somebody without a role may do.
    reopens: REMOTE,
  },
  {
    what: "an instance gets another owner",
    kinds: [...INSIDE, "filtered watch"],
    grant: (world) => everyInstance(world, { owner: { user: world.user } }),
    lose: (world) => everyInstance(world, { owner: { user: "admin" } }),
  },
  {
    what: "an instance's owning team loses the user",
    kinds: INSIDE,
    grant: (world) => everyInstance(world, { owner: { team: world.team, user: "" } }),
    lose: (world) => world.patch(teamPath(world), { spec: { users: [] } }),
  },
  {
    what: "the project gets another owner",
    grant: async (world) => {
      await world.patch(world.projectPath, { spec: { owner: { user: world.user } } });
      return undefined;
    },
    lose: (world) => world.patch(world.projectPath, { spec: { owner: { user: "admin" } } }),
  },
  {
    what: "the project may not use the cluster any more",
    kinds: EMBEDDED,
    grant: asMember,
    lose: (world) => world.patch(world.projectPath, { spec: { allowedClusters: [{ name: "another" }] } }),
  },
  {
    what: "the key's scope is narrowed",
    grant: asMember,
    lose: (world) => world.patch(keyPath(world), { spec: { scope: { roles: [{ role: "metrics-reader" }] } } }),
  },
  {
    what: "the key's rules are narrowed",
    grant: asMember,
    lose: (world) => world.patch(keyPath(world), { spec: { rules: [{ verbs: ["delete"] }] } }),
  },
  {
    what: "the key is disabled",
    grant: asMember,
    lose: (world) => world.patch(keyPath(world), { spec: { disabled: true } }),
  },
  { what: "the key is deleted", grant: asMember, lose: (world) => world.remove(keyPath(world)) },
  {
    what: "the key's time ends",
    grant: asMember,
    lose: (world) => world.patch(keyPath(world), { spec: { ttl: 1 } }),
  },
  {
    what: "the key is rotated",
    grant: asMember,
    lose: (world) => world.server.send(`${keyPath(world)}/rotate`, { spec: { nonce: "1" } }),
  },
  {
    what: "the key is reported as leaked",
    grant: asMember,
    lose: (world) => world.server.send("/leaks", { text: world.key }),
  },
  {
    what: "the user is locked",
    grant: asMember,
    lose: (world) => world.patch(userPath(world), { spec: { disabled: true } }),
  },
  { what: "the user is deleted", grant: asMember, lose: (world) => world.remove(userPath(world)) },
  {
    what: "the user gets another subject",
    grant: asMember,
    lose: (world) => world.patch(userPath(world), { spec: { subject: `other-${world.user}` } }),
    reopens: ALL,
  },
  {
    what: "the instances are deleted",
    kinds: INSIDE,
    grant: asMember,
    lose: async (world) => {
      for (const name of ["in", "out"]) await world.remove(`${world.instances}/${name}`);
    },
  },
  {
    what: "the instances are made again under their names",
    kinds: INSIDE,
    grant: asMember,
    lose: async (world) => {
      for (const name of ["in", "out"]) {
        await world.remove(`${world.instances}/${name}`);
        const spec = { owner: { user: "admin" }, external: name === "out" };
        await vi.waitFor(() => world.server.send(world.instances, object("VirtualClusterInstance", name, spec)), WAIT);
        await whenReady(world.server, `${world.instances}/${name}`);
      }
    },
    reopens: INSIDE,
  },
  {
    what: "the Secret of an external cluster is replaced",
    kinds: REMOTE,
    grant: asMember,
    lose: (world) =>
      world.patch(`${MANAGEMENT}/api/v1/namespaces/${world.namespace}/secrets/vc-out`, {
        stringData: { config: podKubeConfig(world.server, "another-credential") },
      }),
    reopens: REMOTE,
  },
  {
    what: "the Secret of an external cluster is deleted",
    kinds: REMOTE,
    grant: asMember,
    lose: (world) => world.remove(`${MANAGEMENT}/api/v1/namespaces/${world.namespace}/secrets/vc-out`),
  },
  {
    what: "the right to impersonate is lost",
    grant: asImpersonator,
    lose: (world) => world.remove(`${RBAC}/clusterrolebindings/actor-${world.user}`),
  },
  {
    what: "the user who is impersonated loses the right",
    grant: asImpersonator,
    lose: (world) => setMembers(world),
  },
  {
    what: "a RoleBinding inside is deleted",
    kinds: EMBEDDED,
    grant: async (world) => {
      const inside = `${through(world, "in")}/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings`;
      await everyInstance(world, { access: [{ verbs: ["get", "use"], users: [world.user] }] });
      await world.server.send(inside, { ...bindingOf("in", "view", "User", world.user), kind: "RoleBinding" });
      return undefined;
    },
    lose: (world) =>
      world.remove(`${through(world, "in")}/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/in`),
  },
  {
    what: "the project is deleted",
    kinds: INSIDE,
    grant: asMember,
    lose: async (world) => {
      for (const name of ["in", "out"]) await world.remove(`${world.instances}/${name}`);
      await world.remove(world.projectPath);
    },
  },
];

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

describe("what is open is cut (security book 3, 13, 15)", () => {
  it.concurrent.each(LOSSES)("when $what", async (loss) => {
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

it("what others have open goes on (security book 3, 15)", async () => {
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
          { stringData: { config: podKubeConfig(server, "another-credential") } },
          "PATCH",
        ),
    ],
    ["it is deleted", (name) => server.send(`${PLATFORM}/clusters/${name}`, undefined, "DELETE")],
    [
      "its kube config is taken from another Secret",
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
