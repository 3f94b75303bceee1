// Names that look alike, or are alike to a program that is kind about them, are different names: wherever one gives a right.

import type { AccessKeyRule, AccessKeyScope } from "@postern/api/access-key-restrictions";
import { describe, expect, it } from "vitest";
import { insideClusterRoles } from "../inside/inside-groups.ts";
import { createPlatformAuthorizer } from "../platform-authorizer.ts";
import {
  inner,
  instanceWith,
  intoCluster,
  intoSpace,
  intoVirtualCluster,
  management,
  memorySources,
  names,
  ruled,
  scoped,
  UNOWNED,
  userInfo,
  type World,
  world,
} from "../testing/memory-world.ts";
import { inScope } from "./scope.ts";

const NAME = "zoé-root";
const ALIKE: readonly string[] = [
  "Zoé-root",
  "ZOÉ-ROOT",
  "zoe-root",
  "zoé-root".normalize("NFD"),
  "zoé-ｒoot",
  "zоé-root",
  "zoé\u200b-root",
  "zoé-root\u0000",
  "zoé-root\n",
  "zoé-root ",
  " zoé-root",
  "zoé-root/",
  "zoé-root,other",
  "zoé-root%20",
  "zoé",
  "zoé-root-2",
  "*",
  "",
];

const subject = (kind: string, name: string) => [{ kind, name, namespace: "" }];
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" };
const member = (kind: string): Partial<World> => ({
  projects: [{ name: "a", owner: UNOWNED, members: [{ kind, name: NAME, clusterRole: "postern:project-viewer" }] }],
});
const getInstance = management({ resource: "virtualclusterinstances", namespace: "p-a", name: "v1" });
const asUser = (name: string) => userInfo(name);
const asTeam = (name: string) => userInfo("al", name);

describe("a right is had by the exact name (security book 7)", () => {
  it.each<[what: string, parts: Partial<World>, caller: (name: string) => ReturnType<typeof userInfo>]>([
    [
      "user of a binding",
      { bindings: [{ name: "b", namespace: "", subjects: subject("User", NAME), roleRef }] },
      asUser,
    ],
    [
      "group of a binding",
      { bindings: [{ name: "b", namespace: "", subjects: subject("Group", NAME), roleRef }] },
      (name) => ({ name: "al", groups: [name] }),
    ],
    ["user in a project", member("User"), asUser],
    ["team in a project", member("Team"), asTeam],
    ["user that owns a project", { projects: [{ name: "a", owner: { user: NAME, team: "" }, members: [] }] }, asUser],
    ["team that owns a project", { projects: [{ name: "a", owner: { user: "", team: NAME }, members: [] }] }, asTeam],
    ["user that owns an instance", { instances: [instanceWith({ owner: { user: NAME, team: "" } })] }, asUser],
    ["team that owns an instance", { instances: [instanceWith({ owner: { user: "", team: NAME } })] }, asTeam],
    [
      "user that an instance names",
      { instances: [instanceWith({ access: [{ verbs: ["get"], subresources: [], users: [NAME], teams: [] }] })] },
      asUser,
    ],
    [
      "team that an instance names",
      { instances: [instanceWith({ access: [{ verbs: ["get"], subresources: [], users: [], teams: [NAME] }] })] },
      asTeam,
    ],
  ])("of the %s", (_what, parts, caller) => {
    const { decide } = createPlatformAuthorizer(memorySources(world(parts)));
    const opens = (name: string): boolean => decide(getInstance, { user: caller(name) }).verdict === "allow";
    expect(opens(NAME)).toBe(true);
    expect(ALIKE.filter(opens)).toEqual([]);
  });

  it.each(["users", "teams"])("of oneself among %s", (resource) => {
    const { decide } = createPlatformAuthorizer(memorySources(world()));
    const caller = resource === "users" ? asUser(NAME) : asTeam(NAME);
    const opens = (name: string): boolean =>
      decide(management({ resource, name }), { user: caller }).verdict === "allow";
    expect(opens(NAME)).toBe(true);
    expect(ALIKE.filter(opens)).toEqual([]);
  });

  it("of the user who has a role inside", () => {
    const rule = { users: [NAME], teams: [], clusterRole: "edit" };
    const sources = memorySources(world({ instances: [instanceWith({ extraAccessRules: [rule] })] }));
    const roleOf = (name: string) => insideClusterRoles(asUser(name), { project: "a", virtualCluster: "v1" }, sources);
    expect(roleOf(NAME)).toEqual(["edit"]);
    expect(ALIKE.map(roleOf)).toEqual(ALIKE.map(() => []));
  });
});

describe("a key gives access to the exact name (security book 7, 8)", () => {
  const context = { names, user: userInfo("al"), owner: { kind: "user", name: "al" } } as const;

  it.each<[what: string, scope: Partial<AccessKeyScope>, asked: (name: string) => ReturnType<typeof management>]>([
    ["project", { projects: [{ project: NAME }] }, (name) => management({ resource: "projects", name })],
    [
      "project by its namespace",
      { projects: [{ project: NAME }] },
      (name) => management({ apiGroup: "", resource: "secrets", namespace: `p-${name}`, name: "x" }),
    ],
    ["project through the proxy", { projects: [{ project: NAME }] }, (name) => intoVirtualCluster(name, "v1")],
    [
      "virtual cluster",
      { virtualClusters: [{ project: "a", virtualCluster: NAME }] },
      (name) => intoVirtualCluster("a", name),
    ],
    ["space", { spaces: [{ project: "a", space: NAME }] }, (name) => intoSpace("a", name)],
    ["cluster", { clusters: [{ cluster: NAME }] }, (name) => intoCluster(name)],
  ])("of a %s in its scope", (_what, scope, asked) => {
    const opens = (name: string): boolean => inScope(scoped(scope), asked(name), context).open;
    expect(opens(NAME)).toBe(true);
    expect(ALIKE.filter(opens)).toEqual([]);
  });

  it.each<[what: string, rule: Partial<AccessKeyRule>, asked: (name: string) => object]>([
    ["verb", { verbs: [NAME] }, (verb) => ({ verb })],
    ["namespace", { namespaces: [NAME] }, (namespace) => ({ namespace })],
    ["resource", { resources: [{ group: "g", resources: [NAME], resourceNames: [] }] }, (resource) => ({ resource })],
    ["group", { resources: [{ group: NAME, resources: ["r"], resourceNames: [] }] }, (apiGroup) => ({ apiGroup })],
    ["name", { resources: [{ group: "g", resources: ["r"], resourceNames: [NAME] }] }, (name) => ({ name })],
  ])("of a %s in its rules", (_what, rule, asked) => {
    const opens = (name: string): boolean => {
      const request = inner({ apiGroup: "g", resource: "r", namespace: "n", name: "x", ...asked(name) });
      return inScope(ruled(rule), { target: "Management", inner: request }, context).open;
    };
    expect(opens(NAME)).toBe(true);
    expect(ALIKE.filter(opens)).toEqual([]);
  });
});
