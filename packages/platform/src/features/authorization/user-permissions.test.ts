// Requests through a proxy as the management API sees them, and lists that are let through; the rights themselves are tested with the
// decision point.

import { describe, expect, it } from "vitest";
import { isFilteredList, isFilteredResource } from "./filtered-resources.ts";
import {
  inner,
  intoCluster,
  intoSpace,
  intoVirtualCluster,
  management,
  memorySources,
  names,
  userInfo,
  world,
} from "./testing/memory-world.ts";
import { createUserPermissions, useRequest } from "./user-permissions.ts";

const use = (resource: string, namespace: string, name: string) => ({
  isResourceRequest: true,
  verb: "use",
  apiGroup: names.managementGroup,
  resource,
  subresource: "",
  namespace,
  name,
  path: "",
});

const list = { verb: "list", resource: "projects" };

describe("the way through a proxy", () => {
  it("asks to use what is behind it, whatever is asked there", () => {
    for (const asked of [
      { resource: "pods", verb: "delete" },
      { isResourceRequest: false, path: "/x" },
    ]) {
      expect(useRequest(intoCluster("c1", asked), names)).toEqual(use("clusters", "", "c1"));
      expect(useRequest(intoVirtualCluster("a", "v1", asked), names)).toEqual(
        use("virtualclusterinstances", "p-a", "v1"),
      );
    }
    expect(useRequest(intoSpace("a", "s1"), names)).toEqual(use("spaceinstances", "p-a", "s1"));
  });

  it("is allowed by a role that names what is used", () => {
    const sources = memorySources(
      world({
        clusterRoles: [
          {
            name: "user-of-c1",
            rules: [
              {
                verbs: ["use"],
                apiGroups: [names.managementGroup],
                resources: ["clusters"],
                resourceNames: ["c1"],
                nonResourceURLs: [],
              },
            ],
          },
        ],
        bindings: [
          {
            name: "dora",
            namespace: "",
            subjects: [{ kind: "User", name: "dora", namespace: "" }],
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "user-of-c1" },
          },
        ],
      }),
    );
    const rights = createUserPermissions(sources);
    expect(rights.of(userInfo("dora"), intoCluster("c1"))).toMatchObject({ allowed: true, code: "role" });
    expect(rights.of(userInfo("dora"), intoCluster("c2")).allowed).toBe(false);
  });
});

describe("filtered lists", () => {
  it("are let through, and say so", () => {
    const rights = createUserPermissions(memorySources(world()));
    expect(rights.of(userInfo("carl"), management(list))).toEqual({
      allowed: true,
      code: "filtered-list",
      reason: "lists show what the caller may get",
    });
    expect(rights.of({ name: "carl", groups: [] }, management(list))).toEqual({ allowed: false, reason: "" });
  });

  it("are lists and watches of the management API's own kinds, and not of a cluster behind it", () => {
    expect(isFilteredList(management(list), names)).toBe(true);
    expect(isFilteredList(management({ ...list, verb: "watch", namespace: "p-a" }), names)).toBe(true);
    for (const parts of [
      { verb: "get" },
      { verb: "deletecollection" },
      { subresource: "status" },
      { apiGroup: "" },
      { resource: "secrets" },
      { resource: "ownedaccesskeys" },
      { isResourceRequest: false },
    ]) {
      expect([parts, isFilteredList(management({ ...list, ...parts }), names)]).toEqual([parts, false]);
    }
    const behind = { ...list, apiGroup: names.managementGroup };
    expect(isFilteredList(intoCluster("c1", behind), names)).toBe(false);
    expect(isFilteredList(intoVirtualCluster("a", "v1", behind), names)).toBe(false);
    expect(isFilteredList({ ...intoSpace("a", "s1"), inner: inner(behind) }, names)).toBe(false);
    expect(isFilteredResource("project")).toBe(false);
  });
});
