// Users of an instance who are not members of its project can see the instance and the project, and nothing else.

import { describe, expect, it } from "vitest";
import { createPlatformAuthorizer } from "./platform-authorizer.ts";
import type { PlatformRequest } from "./request/platform-request.ts";
import {
  type Instance,
  instanceWith,
  intoVirtualCluster,
  management,
  memorySources,
  type Project,
  UNOWNED,
  userInfo,
  world,
} from "./testing/memory-world.ts";

const projects: readonly Project[] = ["a", "b"].map((name) => ({ name, owner: UNOWNED, members: [] }));
const vci = (verb: string, subresource = ""): PlatformRequest =>
  management({ verb, resource: "virtualclusterinstances", namespace: "p-a", name: "v1", subresource });
const prj = (verb: string, subresource = "", name = "a"): PlatformRequest =>
  management({ verb, resource: "projects", name, subresource });
const secrets = management({ apiGroup: "", resource: "secrets", verb: "list", namespace: "p-a" });
const proxy = intoVirtualCluster("a", "v1");

function openTo(parts: Partial<Instance>, ...teams: readonly string[]) {
  const authorizer = createPlatformAuthorizer(
    memorySources(world({ projects: [...projects], instances: [instanceWith(parts)] })),
  );
  return (request: PlatformRequest): boolean =>
    authorizer.decide(request, { user: userInfo("gina", ...teams) }).verdict === "allow";
}

const GINA = { users: ["gina"], teams: [] };
const OPS = { users: [], teams: ["ops"] };
const WHERE_FOUND = [prj("get"), prj("get", "clusters"), prj("get", "templates")];

describe("a guest of a project", () => {
  it.each<[string, Partial<Instance>]>([
    ["by a role inside", { extraAccessRules: [{ clusterRole: "view", ...GINA }] }],
    ["by a role inside that does not exist there", { extraAccessRules: [{ clusterRole: "nothing", ...OPS }] }],
  ])("%s gets in, and manages nothing", (_how, parts) => {
    const isOpen = openTo(parts, "ops");
    for (const request of [vci("get"), vci("use"), vci("create", "kubeconfig"), proxy, ...WHERE_FOUND]) {
      expect([request, isOpen(request)]).toEqual([request, true]);
    }
    const closed = [
      ...[vci("update"), vci("patch"), vci("delete"), vci("get", "accesskey"), vci("create", "credentials")],
      ...[prj("use"), prj("update"), prj("delete"), prj("get", "members"), prj("get", "", "b"), secrets],
    ];
    for (const request of closed) expect([request, isOpen(request)]).toEqual([request, false]);
  });

  it.each<[string, Partial<Instance>]>([
    ["as an owner", { owner: { user: "gina", team: "" } }],
    ["as one of an owning team", { owner: { user: "", team: "ops" } }],
    ["by the verb use", { access: [{ verbs: ["use"], subresources: [], ...GINA }] }],
    ["by every verb", { access: [{ verbs: ["*"], subresources: [], ...OPS }] }],
    ["of a space", { resource: "spaceinstances", owner: { user: "gina", team: "" } }],
  ])("%s sees the project, and not another", (_how, parts) => {
    const isOpen = openTo(parts, "ops");
    expect(WHERE_FOUND.map(isOpen)).toEqual([true, true, true]);
    expect([prj("update"), prj("get", "", "b"), secrets].map(isOpen)).toEqual([false, false, false]);
  });

  it.each<[string, Partial<Instance>]>([
    ["a rule without a role", { extraAccessRules: [{ clusterRole: "", ...GINA }] }],
    ["a rule for others", { extraAccessRules: [{ clusterRole: "view", users: ["ginas", "Gina"], teams: ["op"] }] }],
    ["the verb get alone", { access: [{ verbs: ["get"], subresources: [], ...GINA }] }],
    ["an instance of another project", { namespace: "p-b", owner: { user: "gina", team: "" } }],
  ])("is not recognised by %s", (_how, parts) => {
    const isOpen = openTo(parts, "ops");
    expect([...WHERE_FOUND, vci("use"), proxy].map(isOpen)).toEqual([false, false, false, false, false]);
  });
});
