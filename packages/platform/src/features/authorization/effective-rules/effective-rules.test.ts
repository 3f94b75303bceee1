import { describe, expect, test } from "vitest";
import { accessKey } from "../../access-keys/testing/access-key.ts";
import { admin, memorySources, names, ruled, scoped, userInfo, world } from "../testing/memory-world.ts";
import { createEffectiveRules } from "./effective-rules.ts";

const sources = memorySources(
  world({
    projects: [
      {
        name: "a",
        owner: { user: "", team: "" },
        members: [{ kind: "User", name: "vera", clusterRole: "postern:project-viewer" }],
      },
    ],
    instances: [
      {
        resource: "virtualclusterinstances",
        namespace: "p-a",
        name: "v1",
        owner: { user: "ines", team: "" },
        access: [{ verbs: ["use"], subresources: ["kubeconfig"], users: ["greta"], teams: [] }],
        extraAccessRules: [],
        labels: {},
      },
    ],
  }),
);
const rules = createEffectiveRules(sources);
const { managementGroup } = names;

describe("the rules of a caller", () => {
  test("is complete for a key that is not narrowed", async () => {
    const told = await rules.rulesFor(userInfo("vera"), "p-a");
    expect(told.incomplete).toBe(false);
    expect(told.resourceRules).toContainEqual({
      verbs: ["get", "list", "watch"],
      apiGroups: [managementGroup],
      resources: ["projects", "projects/clusters", "projects/templates", "virtualclusterinstances", "spaceinstances"],
    });
    expect(told.resourceRules).toContainEqual(
      expect.objectContaining({
        resources: ["users", "users/accesskeys", "users/credentials"],
        resourceNames: ["vera"],
      }),
    );
    expect((await rules.rulesFor(userInfo("vera"), "p-b")).resourceRules).not.toContainEqual(
      expect.objectContaining({ resources: expect.arrayContaining(["virtualclusterinstances"]) }),
    );
  });

  test("has the same objects for instances until one changes", async () => {
    const ofInstance = async () => {
      const { resourceRules } = await rules.rulesFor(ines, "p-a");
      return resourceRules.filter(({ resourceNames }) => resourceNames?.includes("v1"));
    };
    const ines = userInfo("ines");
    const first = await ofInstance();
    expect(first.length).toBeGreaterThan(0);
    for (const [at, rule] of (await ofInstance()).entries()) expect(rule).toBe(first[at]);
  });

  test("include owned objects and granted ones", async () => {
    const owned = await rules.rulesFor(userInfo("ines"), "p-a");
    expect(owned.resourceRules).toContainEqual(
      expect.objectContaining({ verbs: expect.arrayContaining(["delete", "use"]), resourceNames: ["v1"] }),
    );
    const opened = await rules.rulesFor(userInfo("greta"), "p-a");
    expect(opened.resourceRules).toContainEqual({
      verbs: ["use"],
      apiGroups: [managementGroup],
      resources: ["virtualclusterinstances"],
      resourceNames: ["v1"],
    });
  });

  test("is narrowed by the key, and said to be incomplete", async () => {
    const key = accessKey({ restrictions: scoped({ virtualClusters: [{ project: "a", virtualCluster: "v1" }] }) });
    sources.access.setKey(key);
    const told = await rules.rulesFor(admin, "p-a", { id: key.id });
    expect(told.incomplete).toBe(true);
    expect(told.resourceRules).toContainEqual({
      verbs: ["get", "use"],
      apiGroups: [managementGroup],
      resources: ["virtualclusterinstances"],
      resourceNames: ["v1"],
    });
    expect(told.resourceRules).not.toContainEqual(expect.objectContaining({ resources: ["*"] }));
    expect(told.nonResourceRules).not.toContainEqual(expect.objectContaining({ nonResourceURLs: ["*"] }));
  });

  test("at the level of the cluster holds no star for a key that is narrowed by rules", async () => {
    const key = accessKey({
      restrictions: ruled({}, { resources: [{ group: "*", resources: ["*"], resourceNames: [] }] }),
    });
    sources.access.setKey(key);
    const told = await rules.rulesFor(admin, "", { id: key.id });
    expect(told.resourceRules.flatMap(({ resources }) => resources)).not.toContain("*");
  });

  test("is unrestricted for the server itself, and empty for a credential that claims its name", async () => {
    const master = { name: "system:apiserver", groups: ["system:masters"] };
    expect(await rules.rulesFor(master, "p-a")).toEqual({
      resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
      incomplete: false,
    });
    expect((await rules.rulesFor(master, "p-a", { id: "certificate:1" })).resourceRules).toEqual([]);
  });

  test("reports what is wrong with the roles, also for a narrowed key", async () => {
    const broken = memorySources(
      world({
        bindings: [
          {
            name: "broken",
            namespace: "",
            subjects: [{ kind: "User", name: "bo", namespace: "" }],
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "gone" },
          },
        ],
      }),
    );
    const told = createEffectiveRules(broken);
    const evaluationError = 'clusterrole.rbac.authorization.k8s.io "gone" not found';
    expect(await told.rulesFor(userInfo("bo"), "p-a")).toMatchObject({ incomplete: true, evaluationError });
    const key = accessKey({ restrictions: scoped({}) });
    broken.access.setKey(key);
    expect(await told.rulesFor(userInfo("bo"), "p-a", { id: key.id })).toMatchObject({ evaluationError });
    expect(await told.rulesFor(userInfo("al"), "p-a")).not.toHaveProperty("evaluationError");
    expect(await told.rulesFor(userInfo("al"), "p-a", { id: key.id })).not.toHaveProperty("evaluationError");
  });

  test("is nothing for a key that is no longer accepted", async () => {
    expect(await rules.rulesFor(admin, "p-a", { id: "gone" })).toEqual({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: false,
    });
  });
});
