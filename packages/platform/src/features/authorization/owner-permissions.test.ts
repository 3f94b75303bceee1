// Owners may access what they own, and nothing else: each request with the permission that allows it.

import { RuleIndex } from "@postern/apiserver/authorization/rbac/rule-index";
import { describe, expect, it, test } from "vitest";
import { indexMembership } from "./members/project-memberships.ts";
import { clusterRoleRules, ownerPermission, projectOfRequest, projectRolesOf } from "./owner-permissions.ts";
import type { TargetedRequest } from "./request/platform-request.ts";
import {
  inner,
  instanceWith,
  memorySources,
  names,
  type Project,
  UNOWNED,
  userInfo,
  type World,
  world,
} from "./testing/memory-world.ts";

const GROUP = names.managementGroup;
const ask = (verb: string, parts: Partial<TargetedRequest> = {}) => inner({ verb, apiGroup: GROUP, ...parts });
const right = (user: Parameters<typeof ownerPermission>[0], request: TargetedRequest, parts: Partial<World> = {}) => {
  const sources = memorySources(world(parts));
  return ownerPermission(user, request, { ...sources, roles: sources.rbac });
};
const clusterAgent = (cluster: string) => ({ name: `postern:cluster:${cluster}`, groups: ["system:authenticated"] });
const virtualCluster = (path: string) => ({ name: `postern:vcluster:${path}`, groups: ["system:authenticated"] });

const instance = instanceWith({
  owner: { user: "ines", team: "" },
  access: [
    { verbs: ["get"], subresources: [], users: ["greta"], teams: [] },
    { verbs: ["get", "list"], subresources: ["status"], users: ["paul"], teams: ["ops"] },
    { verbs: ["*"], subresources: ["*"], users: ["vera"], teams: [] },
  ],
});
const ofInstance = (verb: string, parts: Partial<TargetedRequest> = {}) =>
  ask(verb, { resource: "virtualclusterinstances", namespace: "p-a", name: "v1", ...parts });

describe("the owner of an instance", () => {
  const ines = userInfo("ines");
  const owned = (request: TargetedRequest) => right(ines, request, { instances: [instance] });

  test.each(["get", "list", "watch", "update", "patch", "delete", "use"])("may %s it", (verb) => {
    expect(owned(ofInstance(verb))).toEqual({ code: "instance-owner", reason: "owns p-a/v1" });
  });

  test.each(["create", "deletecollection", "impersonate", "bind", ""])("may not '%s' it", (verb) => {
    expect(owned(ofInstance(verb))).toBeUndefined();
  });

  it("may do anything with what is below it, and read its status", () => {
    for (const [verb, subresource] of [
      ["create", "kubeconfig"],
      ["get", "accesskey"],
      ["get", "status"],
    ] as const) {
      expect(owned(ofInstance(verb, { subresource }))?.code).toBe("instance-owner");
    }
    for (const verb of ["update", "patch", "create", "delete"]) {
      expect(owned(ofInstance(verb, { subresource: "status" }))).toBeUndefined();
    }
  });

  it("has nothing of what is named alike: in another group, kind or namespace", () => {
    expect(owned(ofInstance("get", { apiGroup: "other.postern" }))).toBeUndefined();
    expect(owned(ofInstance("get", { apiGroup: "" }))).toBeUndefined();
    expect(owned(ofInstance("get", { resource: "spaceinstances" }))).toBeUndefined();
    expect(owned(ofInstance("get", { namespace: "p-b" }))).toBeUndefined();
    expect(owned(ofInstance("get", { name: "v10" }))).toBeUndefined();
  });

  it("has nothing by a request that names no object, or is none for a resource", () => {
    const nameless = { ...instance, name: "" };
    expect(right(ines, ofInstance("list", { name: "" }), { instances: [nameless] })).toBeUndefined();
    expect(owned(ofInstance("get", { isResourceRequest: false }))).toBeUndefined();
  });
});

describe("the access list of an instance", () => {
  const listed = (user: Parameters<typeof ownerPermission>[0], verb: string, subresource = "") =>
    right(user, ofInstance(verb, { subresource }), { instances: [instance] });

  it("names the entry that allows the request", () => {
    const reason = (at: number) => ({ code: "instance-access", reason: `is in spec.access[${at}] of p-a/v1` });
    expect(listed(userInfo("greta"), "get")).toEqual(reason(0));
    expect(listed(userInfo("paul"), "list", "status")).toEqual(reason(1));
    expect(listed(userInfo("otto", "ops"), "get")).toEqual(reason(1));
    expect(listed(userInfo("vera"), "get", "status")).toEqual(reason(2));
    expect(listed(userInfo("vera"), "update", "status")).toBeUndefined();
  });

  it("allows only its verbs, and below the instance only what it lists", () => {
    expect(listed(userInfo("greta"), "list")).toBeUndefined();
    expect(listed(userInfo("greta"), "get", "status")).toBeUndefined();
    expect(listed(userInfo("paul"), "update", "status")).toBeUndefined();
    expect(listed(userInfo("paul"), "get", "kubeconfig")).toBeUndefined();
    expect(listed(userInfo("carl"), "get")).toBeUndefined();
  });

  it("allows with a star the verbs of objects", () => {
    expect(listed(userInfo("vera"), "patch")?.code).toBe("instance-access");
    for (const verb of ["create", "deletecollection", "impersonate"]) {
      expect(listed(userInfo("vera"), verb)).toBeUndefined();
    }
  });
});

describe("the caller's own user and teams", () => {
  const dora = userInfo("dora", "devs");

  test.each(["", "accesskeys", "credentials"])("may be read at '%s'", (subresource) => {
    const user = ask("get", { resource: "users", name: "dora", subresource });
    const team = ask("get", { resource: "teams", name: "devs", subresource });
    expect(right(dora, user)).toEqual({ code: "own-user", reason: "is user dora" });
    expect(right(dora, team)).toEqual({ code: "own-team", reason: "is in team devs" });
  });

  it("may not be changed, nor read at anything else", () => {
    for (const verb of ["update", "patch", "delete", "list", "create"]) {
      expect(right(dora, ask(verb, { resource: "users", name: "dora" }))).toBeUndefined();
      expect(right(dora, ask(verb, { resource: "teams", name: "devs" }))).toBeUndefined();
    }
    for (const subresource of ["status", "*", "kubeconfig"]) {
      expect(right(dora, ask("get", { resource: "users", name: "dora", subresource }))).toBeUndefined();
    }
  });

  it("allow nothing else of the same name", () => {
    for (const parts of [
      { resource: "teams", name: "dora" },
      { resource: "users", name: "devs" },
      { resource: "clusters", name: "dora" },
      { resource: "clusters", name: "devs" },
      { resource: "users", name: "dora", apiGroup: "" },
      { resource: "users", name: "dora", namespace: "p-a" },
      { resource: "users", name: "" },
      { resource: "users", name: "dor" },
    ]) {
      expect([parts, right(dora, ask("get", parts))]).toEqual([parts, undefined]);
    }
  });
});

describe("members of a project", () => {
  const project: Project = {
    name: "a",
    owner: { user: "olga", team: "leads" },
    members: [
      { kind: "User", name: "paul", clusterRole: "postern:project-user" },
      { kind: "Team", name: "devs", clusterRole: "postern:project-viewer" },
      { kind: "Group", name: "ops", clusterRole: "postern:project-admin" },
      { kind: "", name: "paul", clusterRole: "postern:project-admin" },
    ],
  };

  it("have the role that the project gives them, the owner first that of an administrator", () => {
    const rolesOf = (name: string, ...teams: string[]) =>
      projectRolesOf(userInfo(name, ...teams), indexMembership(project), names);
    expect(rolesOf("olga")).toEqual(["postern:project-admin"]);
    expect(rolesOf("x", "leads", "devs")).toEqual(["postern:project-admin", "postern:project-viewer"]);
    expect(rolesOf("paul", "devs")).toEqual(["postern:project-user", "postern:project-viewer"]);
    expect(rolesOf("devs")).toEqual([]);
    expect(rolesOf("x", "paul")).toEqual([]);
  });

  it("are none where the member is of an unknown kind", () => {
    expect(projectRolesOf(userInfo("x", "ops"), indexMembership(project), names)).toEqual([]);
    expect(projectRolesOf(userInfo("ops"), indexMembership(project), names)).toEqual([]);
  });

  it("are none where there is no project", () => {
    expect(projectRolesOf(userInfo("olga"), undefined, names)).toEqual([]);
  });

  it("learn which role and project allows a request", () => {
    const request = ask("get", { resource: "projects", name: "a" });
    expect(right(userInfo("paul"), request, { projects: [project] })).toEqual({
      code: "project-member",
      reason: "has ClusterRole postern:project-user in project a",
    });
    expect(right(userInfo("paul"), { ...request, isResourceRequest: false }, { projects: [project] })).toBeUndefined();
  });

  it("have the rules of a ClusterRole of that name, and of nothing else", () => {
    const rule = { verbs: ["get"], apiGroups: [GROUP], resources: ["*"], resourceNames: [], nonResourceURLs: [] };
    const rulesOf: Parameters<typeof clusterRoleRules>[1]["rulesOf"] = ({ apiGroup, kind, name }, namespace) =>
      `${apiGroup}/${kind}/${name} in '${namespace}'` === "rbac.authorization.k8s.io/ClusterRole/viewer in ''"
        ? new RuleIndex([rule])
        : undefined;
    expect(clusterRoleRules("viewer", { rulesOf })).toEqual([rule]);
    expect(clusterRoleRules("missing", { rulesOf })).toEqual([]);
  });
});

describe("the project that a request concerns", () => {
  test.each([
    ["of the namespace", ask("get", { resource: "secrets", apiGroup: "", namespace: "p-a" }), "a"],
    [
      "of the namespace, though the request is about another",
      ask("get", { resource: "projects", name: "b", namespace: "p-a" }),
      "a",
    ],
    ["itself", ask("get", { resource: "projects", name: "a" }), "a"],
    ["itself, below it", ask("get", { resource: "projects", name: "a", subresource: "clusters" }), "a"],
    [
      "none: a namespace of no project",
      ask("get", { resource: "projects", name: "a", namespace: "kube-system" }),
      undefined,
    ],
    ["none: all projects", ask("list", { resource: "projects" }), undefined],
    ["none: another kind", ask("get", { resource: "clusters", name: "a" }), undefined],
    ["none: another group", ask("get", { resource: "projects", name: "a", apiGroup: "storage.postern" }), undefined],
    ["none: another group and kind", ask("get", { resource: "nodes", name: "a", apiGroup: "" }), undefined],
  ])("%s", (_what, request, project) => {
    expect(projectOfRequest(request, names)).toBe(project);
  });
});

describe("callers who review other users", () => {
  const questions = [
    ask("create", { resource: "tokenreviews", apiGroup: "authentication.k8s.io" }),
    ask("create", { resource: "subjectaccessreviews", apiGroup: "authorization.k8s.io" }),
    ask("introspect", { resource: "selves" }),
  ];
  const elsewhere = { ...instance, namespace: "p-b", owner: UNOWNED, access: [] };
  const instances = [{ ...instance, owner: UNOWNED, access: [] }, elsewhere];

  it("virtual clusters ask, and read themselves", () => {
    const identity = { code: "virtual-cluster-identity", reason: "is virtual cluster p-a/v1" };
    for (const request of [...questions, ofInstance("get"), ofInstance("get", { subresource: "accesskey" })]) {
      expect(right(virtualCluster("p-a:v1"), request, { instances })).toEqual(identity);
    }
  });

  it("virtual clusters may do nothing else", () => {
    for (const request of [
      ofInstance("update"),
      ofInstance("use"),
      ofInstance("get", { subresource: "status" }),
      ofInstance("get", { subresource: "kubeconfig" }),
      ofInstance("get", { namespace: "p-b" }),
      ofInstance("get", { name: "v2" }),
      ofInstance("get", { resource: "spaceinstances" }),
      ofInstance("get", { apiGroup: "other.postern" }),
      ask("create", { resource: "tokenreviews" }),
      ask("get", { resource: "clusters", name: "v1" }),
    ]) {
      expect([request, right(virtualCluster("p-a:v1"), request, { instances })]).toEqual([request, undefined]);
    }
  });

  it("clusters ask, and read themselves", () => {
    const identity = { code: "cluster-identity", reason: "is cluster c1" };
    for (const request of [...questions, ask("get", { resource: "clusters", name: "c1" })]) {
      expect(right(clusterAgent("c1"), request)).toEqual(identity);
    }
  });

  it("clusters may do nothing else", () => {
    const itself = { resource: "clusters", name: "c1" };
    for (const request of [
      ask("update", itself),
      ask("use", itself),
      ask("get", { ...itself, subresource: "status" }),
      ask("get", { ...itself, name: "c2" }),
      ask("get", { ...itself, resource: "projects" }),
      ask("get", { ...itself, apiGroup: "storage.postern" }),
      ask("create", { resource: "tokenreviews" }),
      ofInstance("get"),
    ]) {
      expect([request, right(clusterAgent("c1"), request, { instances })]).toEqual([request, undefined]);
    }
  });

  test.each(["postern:cluster:", "postern:cluster:c1:x", "cluster:c1", "xpostern:cluster:c1", "postern:agent:c1"])(
    "'%s' is no cluster",
    (name) => {
      const agent = { name, groups: ["system:authenticated"] };
      for (const request of questions) expect(right(agent, request)).toBeUndefined();
    },
  );
});
