import { describe, expect, test } from "vitest";
import {
  type Instance,
  instanceWith,
  memorySources,
  names,
  type Project,
  UNOWNED,
  userInfo,
  world,
} from "../testing/memory-world.ts";
import { instanceRules } from "./instance-rules.ts";
import { ownerRules } from "./owner-rules.ts";

const GROUP = names.managementGroup;
const managed = (verbs: readonly string[], resources: readonly string[], name: string) => ({
  verbs,
  apiGroups: [GROUP],
  resources,
  resourceNames: [name],
  nonResourceURLs: [],
});
const rule = (parts: object) => ({
  verbs: ["get"],
  apiGroups: [GROUP],
  resources: [],
  resourceNames: [],
  nonResourceURLs: [],
  ...parts,
});
const ownUser = (name: string) => managed(["get"], ["users", "users/accesskeys", "users/credentials"], name);
const ownTeam = (name: string) => managed(["get"], ["teams", "teams/accesskeys", "teams/credentials"], name);

const told = (user: ReturnType<typeof userInfo>, namespace: string, parts: Parameters<typeof world>[0] = {}) => {
  const sources = memorySources(world(parts));
  return [...ownerRules(user, namespace, sources), ...instanceRules(user, namespace, sources)];
};

describe("oneself", () => {
  test("contains the caller's user and teams", () => {
    expect(told(userInfo("al", "devs", "ops"), "p-a")).toEqual([ownUser("al"), ownTeam("devs"), ownTeam("ops")]);
    const nobodyElse = ["devs", `x${names.teamGroup("y")}`, names.userGroup(""), names.teamGroup("")];
    expect(told({ name: "al", groups: nobodyElse }, "p-a")).toEqual([]);
  });

  test("is empty without groups", () => {
    expect(told({ name: "al", groups: [] }, "p-a")).toEqual([]);
  });
});

describe("a member of a project", () => {
  const project = (clusterRole: string): Project => ({
    name: "a",
    owner: UNOWNED,
    members: [{ kind: "User", name: "al", clusterRole }],
  });
  const tellsOf = (rules: readonly object[], namespace: string) =>
    told(userInfo("al"), namespace, {
      projects: [project("custom")],
      clusterRoles: [{ name: "custom", rules: rules as never }],
    }).slice(1);

  test("has the rules of the role in the project's namespace, and in no other", () => {
    const onSecrets = rule({ apiGroups: [""], resources: ["secrets"] });
    expect(tellsOf([onSecrets], "p-a")).toEqual([onSecrets]);
    expect(tellsOf([onSecrets], "p-b")).toEqual([]);
    expect(tellsOf([onSecrets], "")).toEqual([]);
    expect(tellsOf([onSecrets], "kube-system")).toEqual([]);
  });

  test.each<[what: string, given: object, onProject: readonly string[] | undefined]>([
    ["projects", { resources: ["projects"] }, ["projects"]],
    ["what lies below projects", { resources: ["projects/clusters", "secrets"] }, ["projects/clusters"]],
    ["everything", { resources: ["*"] }, ["projects", "projects/clusters", "projects/templates"]],
    ["every group", { apiGroups: ["*"], resources: ["projects"] }, ["projects"]],
    ["another group", { apiGroups: ["other"], resources: ["projects"] }, undefined],
    ["other resources", { resources: ["users", "myprojects/x", "x/projects/"] }, undefined],
    ["this project by name", { resources: ["projects"], resourceNames: ["b", "a"] }, ["projects"]],
    ["another project by name", { resources: ["projects"], resourceNames: ["b"] }, undefined],
  ])("sees of the project itself what a rule on %s allows", (_what, given, onProject) => {
    expect(tellsOf([rule({ verbs: ["get", "update"], ...given })], "")).toEqual(
      onProject === undefined ? [] : [managed(["get", "update"], onProject, "a")],
    );
  });
});

describe("an instance", () => {
  const tellsOf = (parts: Partial<Instance>, namespace = "p-a") =>
    told(userInfo("al"), namespace, { instances: [instanceWith(parts)] }).slice(1);
  const opened = (verbs: readonly string[], subresources: readonly string[], users = ["al"]) =>
    tellsOf({ access: [{ verbs, subresources, users, teams: [] }] });
  const ALL = ["get", "list", "watch", "update", "patch", "delete", "use"];
  const profile = (verbs: readonly string[]) => ({
    ...managed(verbs, ["clusterprofiles"], "v1"),
    apiGroups: ["multicluster.x-k8s.io"],
  });
  const below = (resource: string) =>
    ["kubeconfig", "accesskey", "credentials", "join"].map((one) => `${resource}/${one}`);

  test.each(["virtualclusterinstances", "spaceinstances"] as const)("of %s is allowed for its owner", (resource) => {
    const owned = { resource, owner: { user: "al", team: "" } };
    const profiles = resource === "virtualclusterinstances" ? [profile(["get", "list", "watch"])] : [];
    expect(tellsOf(owned)).toEqual([
      managed(ALL, [resource], "v1"),
      managed(["*"], below(resource), "v1"),
      ...profiles,
    ]);
    expect(tellsOf(owned, "p-b")).toEqual([]);
    expect(tellsOf({ ...owned, owner: { user: "bo", team: "" } })).toEqual([]);
  });

  test("is available to those it names, within its limits", () => {
    const of = "virtualclusterinstances";
    expect(opened(["use", "create"], [])).toEqual([managed(["use"], [of], "v1")]);
    expect(opened(["create"], ["kubeconfig"])).toEqual([managed(["create"], [`${of}/kubeconfig`], "v1")]);
    expect(opened(["use", "create"], ["kubeconfig"])).toEqual([
      managed(["use"], [of], "v1"),
      managed(["use", "create"], [`${of}/kubeconfig`], "v1"),
    ]);
    expect(opened(["*"], ["*"])).toEqual([
      managed(ALL, [of], "v1"),
      managed(["*"], below(of), "v1"),
      profile(["get", "list", "watch"]),
    ]);
    expect(opened(["get"], [])).toEqual([managed(["get"], [of], "v1"), profile(["get"])]);
    expect(opened([], ["kubeconfig"])).toEqual([]);
    expect(opened(["use"], [], ["bo"])).toEqual([]);
  });
});
