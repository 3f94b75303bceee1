// Visibility of the objects of a kind to a caller, and its changes: each way of seeing by itself.

import { describe, expect, it } from "vitest";
import { accessKey } from "../../access-keys/testing/access-key.ts";
import type { FilteredResource } from "../filtered-resources.ts";
import { createPlatformAuthorizer } from "../platform-authorizer.ts";
import {
  admin,
  cached,
  instanceObject,
  instanceWith,
  type MemorySources,
  management,
  memorySources,
  names,
  type Project,
  projectObject,
  scoped,
  UNOWNED,
  userInfo,
  type World,
  withKey,
  world,
} from "../testing/memory-world.ts";
import { createVisibility } from "./visibility.ts";

const MASTER = { name: "system:apiserver", groups: ["system:masters"] };
const adam = userInfo("adam");
const project = (name: string, member = "", clusterRole = "postern:project-viewer"): Project => ({
  name,
  owner: UNOWNED,
  members: member === "" ? [] : [{ kind: "User", name: member, clusterRole }],
});
const instance = (namespace: string, name: string, owner = "") =>
  instanceWith({ namespace, name, owner: { user: owner, team: "" } });
const getting = (resource: string, ...resourceNames: readonly string[]) => ({
  verbs: ["get"],
  apiGroups: [names.managementGroup],
  resources: [resource],
  resourceNames,
  nonResourceURLs: [],
});
const binding = (namespace: string, name: string) => ({
  name: `${name}-of-adam`,
  namespace,
  subjects: [{ kind: "User", name: "adam", namespace: "" }],
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
});
const platform = (parts: Partial<World> = {}): MemorySources => memorySources(world(parts));
const all = [instance("p-a", "v1"), instance("p-a", "v2"), instance("p-b", "v1")];

const seen = (
  sources: MemorySources,
  subject: Parameters<ReturnType<typeof createVisibility>["follow"]>[0],
  resource: FilteredResource,
  objects: readonly ReturnType<typeof cached>[],
): "all" | readonly string[] => {
  const visible = createVisibility(sources).visibleTo(subject, resource);
  if (visible === "all") return "all";
  return objects.filter(visible).map(({ key }) => key.split(`/${resource}/`)[1] ?? "");
};
const seenInstances = (sources: MemorySources, subject: Parameters<typeof seen>[1], objects = all) =>
  seen(
    sources,
    subject,
    "virtualclusterinstances",
    objects.map((each) => cached(instanceObject(each), "virtualclusterinstances")),
  );
const seenProjects = (sources: MemorySources, subject: Parameters<typeof seen>[1], objects: readonly Project[]) =>
  seen(
    sources,
    subject,
    "projects",
    objects.map((each) => cached(projectObject(each), "projects")),
  );

/** Counts lookups of roles. */
const countingLooks = (sources: MemorySources): { readonly count: number } => {
  const looks = { count: 0 };
  const { rbac } = sources;
  const grantsToUser = rbac.grantsToUser.bind(rbac);
  rbac.grantsToUser = (...asked) => {
    looks.count++;
    return grantsToUser(...asked);
  };
  return looks;
};

describe("visibility", () => {
  it("is nothing with a key that is refused, or is gone", () => {
    const sources = platform({ instances: all });
    const key = accessKey({ owner: { kind: "user", name: "admin" } });
    const { follow } = createVisibility(sources);
    const gone = follow(withKey(admin, key), "virtualclusterinstances");
    const shown = cached(instanceObject(instance("p-a", "v1")), "virtualclusterinstances");
    expect(gone.visible !== "all" && gone.visible(shown)).toBe(false);
    expect([seenInstances(sources, withKey(admin, key)), gone.isOutdated()]).toEqual([[], true]);
    sources.access.setKey(key);
    expect(seenInstances(sources, withKey(admin, key))).toBe("all");
    sources.access.setRefusal("disabled");
    const refused = follow(withKey(admin, key), "virtualclusterinstances");
    expect([seenInstances(sources, withKey(admin, key)), refused.isOutdated()]).toEqual([[], true]);
  });

  it("is unrestricted for the server itself, and empty for a credential that claims its name (security book 29)", () => {
    const sources = platform();
    expect(seenInstances(sources, { user: MASTER })).toBe("all");
    expect(seenInstances(sources, { user: MASTER, credential: { id: "certificate:1" } })).toEqual([]);
  });

  it("follows roles, everywhere or in one namespace, for names or all objects", () => {
    const seenWith = (namespace: string, ...rules: readonly ReturnType<typeof getting>[]) =>
      seenInstances(platform({ clusterRoles: [{ name: "r", rules }], bindings: [binding(namespace, "r")] }), {
        user: adam,
      });
    const kind = "virtualclusterinstances";
    expect(seenWith("", getting(kind))).toBe("all");
    expect(seenWith("", getting(kind, "v1"))).toEqual(["p-a/v1", "p-b/v1"]);
    expect(seenWith("", getting(kind, "v1"), getting(kind, "v2", "v3"))).toEqual(["p-a/v1", "p-a/v2", "p-b/v1"]);
    expect(seenWith("", getting(kind, "v1"), getting(kind))).toBe("all");
    expect(seenWith("", getting("spaceinstances"))).toEqual([]);
    expect(seenWith("", { ...getting(kind), verbs: ["list", "watch"] })).toEqual([]);
    expect(seenWith("", { ...getting(kind), resources: [`${kind}/status`] })).toEqual([]);
    expect(seenWith("", { ...getting(kind), apiGroups: [""] })).toEqual([]);
    expect(seenWith("p-a", getting(kind))).toEqual(["p-a/v1", "p-a/v2"]);
    expect(seenWith("p-a", getting(kind, "v2"))).toEqual(["p-a/v2"]);
  });

  it("follows membership of projects, and only in their namespaces", () => {
    const sources = platform({ projects: [project("a", "adam"), project("b", "bea"), project("kube-system", "adam")] });
    expect(seenInstances(sources, { user: adam })).toEqual(["p-a/v1", "p-a/v2"]);
    expect(seenInstances(sources, { user: adam }, [instance("kube-system", "v1")])).toEqual([]);
    expect(seenInstances(sources, { user: userInfo("carl") })).toEqual([]);
  });

  it("is judged by the state that an object shows, not by what is known of it now", () => {
    const sources = platform({ instances: [instance("p-a", "v1", "bea"), instance("p-a", "v2", "adam")] });
    const shown = [instance("p-a", "v1", "adam"), instance("p-a", "v2", "bea")];
    expect(seenInstances(sources, { user: adam }, shown)).toEqual(["p-a/v1"]);
    const known = platform({ projects: [project("a", "bea"), project("b", "adam")] });
    expect(seenProjects(known, { user: adam }, [project("a", "adam"), project("b", "bea")])).toEqual(["a"]);
  });

  it("asks nothing of each instance and of each project for a list of projects", () => {
    const sources = platform({ projects: [project("a", "bea"), project("b", "bea")], instances: all });
    const asked = { ...sources.instances, entries: () => expect.fail("each instance"), get: () => expect.fail("one") };
    const each = { ...sources.projects, entries: () => expect.fail("each project") };
    const projects = [project("a", "bea"), project("b", "bea")];
    sources.access.setInstance(instance("p-b", "v9", "adam"));
    expect(seenProjects({ ...sources, instances: asked, projects: each }, { user: adam }, projects)).toEqual(["b"]);
  });

  it("includes the caller's own user and teams", () => {
    const plain = (resource: "users" | "teams" | "clusters", name: string) =>
      cached({ apiVersion: `${names.managementGroup}/v1`, kind: "Any", metadata: { name } }, resource);
    const dora = { user: userInfo("dora", "devs") };
    for (const [resource, own] of [
      ["users", ["dora"]],
      ["teams", ["devs"]],
      ["clusters", []],
    ] as const) {
      const objects = ["dora", "devs", "carl"].map((name) => plain(resource, name));
      expect(seen(platform(), dora, resource, objects)).toEqual(own);
    }
  });

  it("is the space that one owns", () => {
    const space = { ...instance("p-a", "s1", "adam"), resource: "spaceinstances" as const };
    const objects = [space, { ...space, name: "s2", owner: UNOWNED }].map((each) =>
      cached(instanceObject(each), "spaceinstances"),
    );
    expect(seen(platform(), { user: adam }, "spaceinstances", objects)).toEqual(["p-a/s1"]);
  });

  it("is itself, to a control plane that comes with its own key", () => {
    const sources = platform({ instances: all });
    expect(seenInstances(sources, { user: { name: "postern:vcluster:p-a:v1", groups: [] } })).toEqual(["p-a/v1"]);
  });

  it("is found out once for all objects of a namespace", () => {
    const sources = platform({ projects: [project("a", "adam"), project("b", "bea")] });
    const looks = countingLooks(sources);
    const visible = createVisibility(sources).visibleTo({ user: adam }, "virtualclusterinstances");
    const look = (namespace: string, name: string): number => {
      const before = looks.count;
      if (visible !== "all") visible(cached(instanceObject(instance(namespace, name)), "virtualclusterinstances"));
      return looks.count - before;
    };
    expect(look("p-a", "v1")).toBeGreaterThan(0);
    expect([look("p-a", "v2"), look("p-a", "v3")]).toEqual([0, 0]);
    expect(look("p-b", "v1")).toBeGreaterThan(0);
    expect(look("p-b", "v2")).toBe(0);
  });

  it("is limited by the scope of the key, also if roles allow everything", () => {
    const sources = platform({ instances: all });
    const key = accessKey({ restrictions: scoped({ virtualClusters: [{ project: "a", virtualCluster: "v2" }] }) });
    sources.access.setKey(key);
    expect(seenInstances(sources, withKey(admin, key))).toEqual(["p-a/v2"]);
    expect(seenInstances(sources, withKey(adam, key))).toEqual([]);
    const get = management({ resource: "virtualclusterinstances", namespace: "p-a", name: "v2" });
    expect(createPlatformAuthorizer(sources).decide(get, withKey(admin, key)).verdict).toBe("allow");
  });
});

describe("a possible change of visibility", () => {
  const followed = (sources: MemorySources, subject: Parameters<typeof seen>[1]) => {
    const { visible, isOutdated } = createVisibility(sources).follow(subject, "virtualclusterinstances");
    if (visible !== "all") {
      for (const each of all) visible(cached(instanceObject(each), "virtualclusterinstances"));
    }
    return isOutdated;
  };

  it("with the key: when it is refused, deleted, replaced, or its scope changes", () => {
    const key = accessKey({ restrictions: scoped({ projects: [{ project: "a" }] }) });
    const changed = (change: (sources: MemorySources) => void): boolean => {
      const sources = platform({ projects: [project("a", "adam")] });
      sources.access.setKey(key);
      const isOutdated = followed(sources, withKey(adam, key));
      expect(isOutdated()).toBe(false);
      change(sources);
      return isOutdated();
    };
    const replaced = (parts: Parameters<typeof accessKey>[0]) =>
      changed(({ access }) => access.setKey({ ...key, revision: 2, ...parts }));
    expect(changed(() => {})).toBe(false);
    expect(changed(({ access }) => access.setRefusal("disabled"))).toBe(true);
    expect(changed(({ access }) => access.setKey(undefined, key.id))).toBe(true);
    expect(replaced({ restrictions: scoped({ projects: [{ project: "b" }] }) })).toBe(true);
    expect(replaced({ restrictions: undefined })).toBe(true);
    expect(replaced({ owner: { kind: "user", name: "bea" } })).toBe(true);
    expect(replaced({ uid: "another" })).toBe(true);
    // Its use is written to its record.
    expect(replaced({})).toBe(false);
    expect(replaced({ restrictions: scoped({ projects: [{ project: "a" }] }) })).toBe(false);
    expect(changed(({ access }) => access.setKey({ ...key }))).toBe(false);
  });

  it("with a key that is narrowed by nothing as well", () => {
    const key = accessKey();
    const sources = platform({ projects: [project("a", "adam")] });
    sources.access.setKey(key);
    const isOutdated = followed(sources, withKey(adam, key));
    sources.access.setKey({ ...key, revision: 2 });
    expect(isOutdated()).toBe(false);
    sources.access.setKey({ ...key, revision: 3, restrictions: scoped({}) });
    expect(isOutdated()).toBe(true);
  });

  it("with roles, except for callers who still see everything, and the server itself", () => {
    const sources = platform();
    const [ofAdam, ofAdmin, ofServer] = [{ user: adam }, { user: admin }, { user: MASTER }].map((subject) =>
      followed(sources, subject),
    );
    expect([ofAdam?.(), ofAdmin?.(), ofServer?.()]).toEqual([false, false, false]);
    sources.rbac.setRole("", "new", []);
    sources.rbac.setBinding({ ...binding("p-a", "new"), subjects: [{ kind: "User", name: "bea", namespace: "" }] });
    expect([ofAdam?.(), ofAdmin?.(), ofServer?.()]).toEqual([false, false, false]);
    sources.rbac.setBinding(binding("p-z", "new"));
    expect([ofAdam?.(), ofAdmin?.(), ofServer?.()]).toEqual([true, false, false]);
    sources.rbac.removeBinding("", "postern:admin");
    expect([ofAdam?.(), ofAdmin?.(), ofServer?.()]).toEqual([false, true, false]);
  });

  it("with the rules of a role that is bound to them, or that they have in a project", () => {
    const changed = (parts: Partial<World>, change: (sources: MemorySources) => void): boolean => {
      const sources = platform({
        clusterRoles: [{ name: "r", rules: [getting("virtualclusterinstances")] }],
        ...parts,
      });
      const isOutdated = followed(sources, { user: adam });
      expect(isOutdated()).toBe(false);
      change(sources);
      return isOutdated();
    };
    const emptied = ({ rbac }: MemorySources) => rbac.setRole("", "r", []);
    const removed = ({ rbac }: MemorySources) => rbac.removeRole("", "r");
    for (const change of [emptied, removed]) {
      expect(changed({}, change)).toBe(false);
      expect(changed({ bindings: [binding("p-a", "r")] }, change)).toBe(true);
      expect(changed({ projects: [project("c", "adam", "r")] }, change)).toBe(true);
      expect(changed({ projects: [project("c", "bea", "r")] }, change)).toBe(false);
    }
  });

  it("when the affected callers are no longer known", () => {
    const sources = platform();
    const isOutdated = followed(sources, { user: adam });
    for (let count = 0; count < 3_000; count++) sources.rbac.setRole("", "new", []);
    expect([isOutdated(), isOutdated()]).toEqual([true, false]);
    sources.rbac.clearRoles("namespaces");
    expect(isOutdated()).toBe(true);
  });

  it("with roles that allow everything to a caller who saw a part", () => {
    const sources = platform({ clusterRoles: [{ name: "all", rules: [getting("virtualclusterinstances")] }] });
    const isOutdated = followed(sources, { user: adam });
    sources.rbac.setBinding(binding("", "all"));
    expect(isOutdated()).toBe(true);
  });

  it("with members of a project whose instances were shown, where they see more or less", () => {
    const named = (role: string, ...objects: readonly string[]) => ({
      name: role,
      rules: [getting("virtualclusterinstances", ...objects)],
    });
    const changed = (before: string, after: string, of = "a"): boolean => {
      const sources = platform({
        clusterRoles: [
          named("all"),
          named("v1", "v1"),
          named("v2", "v2"),
          named("both", "v1", "v2"),
          named("same", "v1"),
        ],
        projects: [project("a", "adam", before), project("c", "adam", before)],
      });
      const isOutdated = followed(sources, { user: adam });
      expect(isOutdated()).toBe(false);
      sources.access.setProject(project(of, "adam", after));
      return isOutdated();
    };
    expect(changed("v1", "missing")).toBe(true);
    expect(changed("missing", "v1")).toBe(true);
    expect(changed("v1", "v2")).toBe(true);
    expect(changed("v1", "both")).toBe(true);
    expect(changed("both", "v2")).toBe(true);
    expect(changed("v1", "all")).toBe(true);
    expect(changed("all", "v1")).toBe(true);
    expect(changed("all", "postern:project-viewer")).toBe(false);
    expect(changed("v1", "same")).toBe(false);
    // Nothing of it was shown, but may have been by the list before.
    expect(changed("v1", "missing", "c")).toBe(true);
  });

  it("is looked for again only where projects have changed since", () => {
    const sources = platform({ projects: [project("a", "adam")] });
    const looks = countingLooks(sources);
    const isOutdated = followed(sources, { user: adam });
    const asked = (): number => {
      const before = looks.count;
      expect(isOutdated()).toBe(false);
      return looks.count - before;
    };
    expect(asked()).toBe(0);
    sources.access.setProject(project("a", "bea"));
    sources.access.setProject(project("a", "adam"));
    expect(asked()).toBeGreaterThan(0);
    sources.access.setProject(project("c", "bea"));
    expect(asked()).toBe(0);
    expect([asked(), asked()]).toEqual([0, 0]);
  });

  it("not with members of projects for callers who see everything", () => {
    const sources = platform({ projects: [project("a", "admin")] });
    const key = accessKey({ restrictions: scoped({ projects: [{ project: "a" }] }) });
    sources.access.setKey(key);
    const isOutdated = followed(sources, withKey(admin, key));
    sources.access.setProject(project("a"));
    expect(isOutdated()).toBe(false);
  });
});
