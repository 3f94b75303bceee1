// Every kind of request that lasts, and every way of losing the right to it.

import { vi } from "vitest";
import { openHttp1, openHttp2, openHttp2Socket, openSpdy, openWebSocket, type StreamOpener } from "./open-streams.ts";
import { MANAGEMENT, object, PLATFORM, podKubeconfig, RBAC, type RightsWorld, whenReady } from "./rights-world.ts";

const WAIT = { timeout: 60_000, interval: 20 };

export type Kind = { readonly open: StreamOpener; readonly path: (world: RightsWorld) => string };

export const through = ({ project }: RightsWorld, name: string): string =>
  `/kubernetes/project/${project}/virtualcluster/${name}`;
const embedded = (world: RightsWorld): string => `${through(world, "in")}/api/v1/namespaces/default/configmaps?watch=1`;
const pod = (world: RightsWorld): string => `${through(world, "out")}/api/v1/namespaces/default/pods/web`;
const exec = (world: RightsWorld): string => `${pod(world)}/exec?command=cat&stdin=true&stdout=true`;
const remoteWatch = (world: RightsWorld): string => `${through(world, "out")}/api/v1/namespaces/default/pods?watch=1`;
const events = ({ namespace }: RightsWorld): string => `${MANAGEMENT}/api/v1/namespaces/${namespace}/events?watch=1`;

// biome-ignore format: a table
export const KINDS = {
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
export type KindName = keyof typeof KINDS;

export const ALL = Object.keys(KINDS) as KindName[];
const named = (pattern: RegExp): readonly KindName[] => ALL.filter((name) => pattern.test(name));
const INSIDE = named(/embedded|remote|log|exec|attach|forward/);
const EMBEDDED = named(/embedded/);
const REMOTE = named(/remote|log|exec|attach|forward/);

type Login = { readonly key: string; readonly headers?: { readonly [name: string]: string } };

export type Loss = {
  readonly what: string;
  /** Kinds of streams that are open; absent: everything. */
  readonly kinds?: readonly KindName[];
  /** Gives the right. Resolves with the credential, where it is not the user's key. */
  readonly grant: (world: RightsWorld) => Promise<Login | undefined>;
  readonly lose: (world: RightsWorld) => Promise<unknown>;
  /** Absent: nothing that was open may be opened again. */
  readonly reopens?: readonly KindName[];
};

export const member = (world: RightsWorld, clusterRole = "postern:project-user", kind = "User") => ({
  kind,
  name: kind === "User" ? world.user : world.team,
  clusterRole,
});
export const setMembers = (world: RightsWorld, ...members: readonly object[]) =>
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
/** By a binding in the embedded cluster. An entry of `spec.extraAccessRules` would let the user into the instance as well. */
const roleInside = async (world: RightsWorld): Promise<undefined> => {
  const binding = { ...bindingOf(`edit-${world.user}`, "edit", "User", world.user), kind: "ClusterRoleBinding" };
  await world.server.send(`${through(world, "in")}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, binding);
  return undefined;
};
const PROJECT_RULES = [
  { verbs: ["get", "list", "watch", "use"], apiGroups: ["management.postern"], resources: ["virtualclusterinstances"] },
  { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["events"] },
];
export const clusterRole = (name: string, rules: readonly object[] = PROJECT_RULES) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules,
});
export const bindingOf = (name: string, role: string, kind: "User" | "Group", subject: string) => ({
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
  return await roleInside(world);
};
export const keyPath = ({ keyName }: RightsWorld): string => `${PLATFORM}/ownedaccesskeys/${keyName}`;
export const userPath = ({ user }: RightsWorld): string => `${PLATFORM}/users/${user}`;
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

export const LOSSES: readonly Loss[] = [
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
      return await roleInside(world);
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
    grant: async (world) => {
      await everyInstance(world, { access: [{ verbs: ["get", "use"], subresources: [], users: [world.user] }] });
      return await roleInside(world);
    },
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
    // There, the cluster decides what a user without a role may do.
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
        stringData: { config: podKubeconfig(world.server, "another-credential") },
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
