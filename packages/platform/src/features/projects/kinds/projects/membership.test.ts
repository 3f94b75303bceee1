import { createPlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { describe, expect, it } from "vitest";
import { projectStrategy } from "./strategy.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const ann = { name: "ann", groups: ["postern:user:ann", "system:authenticated"] };

function strategyThatRecords() {
  const checked: { readonly project: KubeObject; readonly old: KubeObject | undefined }[] = [];
  const strategy = projectStrategy({
    names,
    directory: { user: () => undefined, userBySubject: () => ({ name: "ann" }), team: () => undefined } as never,
    lookup: { cluster: () => undefined, clusterRole: () => undefined },
    authorizer: { authorize: () => ({ verdict: "allow", reason: "" }) },
    createNamespace: async () => undefined,
    hasRecordings: true,
    checkMembership: async (project, old) => void checked.push({ project, old }),
  });
  return { strategy, checked };
}

const project = (spec: object) =>
  ({ apiVersion: "management.postern/v1", kind: "Project", metadata: { name: "shop" }, spec }) as never;

describe("project membership", () => {
  it("is checked on create and update, so that users grant at most their own permissions", async () => {
    const { strategy, checked } = strategyThatRecords();
    const context = createTestContext({ url: "/", user: ann });
    const members = [{ kind: "User", name: "eve", clusterRole: "postern:project-admin" }];
    await strategy.prepareForCreate?.(project({ members }), context);
    await strategy.prepareForUpdate?.(project({ members }), project({}), context);
    expect(checked.map(({ project: { spec } }) => (spec as { members?: unknown }).members)).toEqual([members, members]);
    expect(checked[1]?.old).toBeDefined();
  });

  it("does not check whether the creator of a project may own it", async () => {
    const { strategy, checked } = strategyThatRecords();
    const created = await strategy.prepareForCreate?.(project({}), createTestContext({ url: "/", user: ann }));
    expect((created as { spec?: { owner?: unknown } }).spec?.owner).toEqual({ user: "ann" });
    expect(checked[0]?.project["spec"]).toEqual({});
  });
});
