import { createEscalationCheck } from "@postern/apiserver/builtin/rbac/escalation-check";
import { describe, expect, test } from "vitest";
import { createRequestContext } from "../testing/request-context.ts";
import { createEffectiveRules } from "./effective-rules.ts";
import { createMembershipCheck } from "./membership-check.ts";
import { createPlatformAuthorizer } from "./platform-authorizer.ts";
import {
  accessKey,
  admin,
  memorySources,
  names,
  type Project,
  projectObject,
  ruled,
  userInfo,
  world,
} from "./testing/memory-world.ts";

const member = (name: string, clusterRole: string) => ({ kind: "User", name, clusterRole });
const project: Project = {
  name: "a",
  owner: { user: "", team: "" },
  members: [member("adam", "postern:project-admin"), member("paul", "postern:project-user")],
};

function platform() {
  const sources = memorySources(world({ projects: [project] }));
  const escalation = createEscalationCheck({
    authorizer: createPlatformAuthorizer(sources),
    ruleResolver: createEffectiveRules(sources),
    source: sources.rbac,
  });
  const check = createMembershipCheck({ names, escalation });
  return {
    ...sources,
    grant: (name: string, clusterRole: string, user = userInfo("adam"), id?: string) =>
      check(
        projectObject({ ...project, members: [...project.members, member(name, clusterRole)] }),
        projectObject(project),
        createRequestContext({ url: "/", user, credential: id === undefined ? undefined : { id } }),
      ),
  };
}

describe("security book 12: membership gives no more than its giver has", () => {
  test.each(["postern:project-viewer", "postern:project-user", "postern:project-admin"])(
    "a project's admin gives %s",
    async (role) => {
      await expect(platform().grant("zoe", role)).resolves.toBeUndefined();
    },
  );

  test("and neither the platform's admin role, nor one that is not there", async () => {
    const { grant } = platform();
    await expect(grant("adam", "postern:admin")).rejects.toMatchObject({ code: 403 });
    await expect(grant("adam", "missing")).rejects.toMatchObject({ code: 404 });
    await expect(grant("zoe", "postern:project-admin", userInfo("paul"))).rejects.toMatchObject({ code: 403 });
    await expect(grant("adam", "postern:admin", admin)).resolves.toBeUndefined();
  });

  test("what is given already is not asked about again", async () => {
    const { grant } = platform();
    await expect(grant("paul", "postern:project-user", userInfo("carl"))).resolves.toBeUndefined();
  });

  test("a narrowed key gives no more than it opens", async () => {
    const { grant, access } = platform();
    const key = accessKey({
      restrictions: ruled({
        resources: [{ group: names.managementGroup, resources: ["projects"], resourceNames: [] }],
      }),
    });
    access.setKey(key);
    await expect(grant("zoe", "postern:project-user", userInfo("adam"), key.id)).rejects.toMatchObject({ code: 403 });
  });
});
