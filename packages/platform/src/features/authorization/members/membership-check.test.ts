import { createEscalationCheck } from "@postern/kubernetes/builtin/rbac/escalation-check";
import { describe, expect, test } from "vitest";
import { createRequestContext } from "../../../testing/request-context.ts";
import { accessKey } from "../../access-keys/testing/access-key.ts";
import { createEffectiveRules } from "../effective-rules/effective-rules.ts";
import { createPlatformAuthorizer } from "../platform-authorizer.ts";
import {
  admin,
  memorySources,
  names,
  type Project,
  projectObject,
  ruled,
  userInfo,
  world,
} from "../testing/memory-world.ts";
import { createMembershipCheck } from "./membership-check.ts";

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
    /** Another user's project. */
    create: (made: Partial<Project>, user: string) =>
      check(
        projectObject({ name: "new", owner: { user: "", team: "" }, members: [], ...made }),
        undefined,
        createRequestContext({ url: "/", user: userInfo(user) }),
      ),
    /** An existing project, changed by a user who is not a member. */
    change: (before: Partial<Project>, after: Partial<Project>) =>
      check(
        projectObject({ ...project, ...after }),
        projectObject({ ...project, ...before }),
        createRequestContext({ url: "/", user: userInfo("carl") }),
      ),
    grant: (name: string, clusterRole: string, user = userInfo("adam"), id?: string) =>
      check(
        projectObject({ ...project, members: [...project.members, member(name, clusterRole)] }),
        projectObject(project),
        createRequestContext({ url: "/", user, credential: id === undefined ? undefined : { id } }),
      ),
  };
}

describe("members get at most the permissions of the user who adds them (security book 12)", () => {
  test.each(["postern:project-viewer", "postern:project-user", "postern:project-admin"])(
    "a project's admin gives %s",
    async (role) => {
      await expect(platform().grant("zoe", role)).resolves.toBeUndefined();
    },
  );

  test("and neither the platform's admin role, nor one that is not there", async () => {
    const { grant } = platform();
    await expect(grant("adam", "postern:admin")).rejects.toMatchObject({
      code: 403,
      message: expect.stringMatching(
        /^projects\.management\.postern "a" is forbidden: spec\.members\[2\]\.clusterRole: user "adam" .* is attempting to grant RBAC permissions/,
      ),
    });
    await expect(grant("adam", "missing")).rejects.toMatchObject({
      code: 403,
      message:
        'projects.management.postern "a" is forbidden: spec.members[2].clusterRole: there is no ClusterRole "missing"',
    });
    await expect(grant("zoe", "postern:project-admin", userInfo("paul"))).rejects.toMatchObject({ code: 403 });
    await expect(grant("adam", "postern:admin", admin)).resolves.toBeUndefined();
  });

  test("existing grants are not checked again", async () => {
    const { grant } = platform();
    await expect(grant("paul", "postern:project-user", userInfo("carl"))).resolves.toBeUndefined();
  });

  test("an owner is given what a project's admin has", async () => {
    const { create, change } = platform();
    await expect(create({}, "carl")).resolves.toBeUndefined();
    const refusal = {
      code: 403,
      message: expect.stringMatching(
        /^projects\.management\.postern "\w+" is forbidden: spec\.owner\.(?:user|team): user "carl" .* is attempting/,
      ),
    };
    await expect(create({ owner: { user: "carl", team: "" } }, "carl")).rejects.toMatchObject(refusal);
    await expect(create({ owner: { user: "", team: "devs" } }, "carl")).rejects.toMatchObject(refusal);
    await expect(create({ members: [member("carl", "postern:project-user")] }, "carl")).rejects.toMatchObject({
      code: 403,
    });
    await expect(
      change({ owner: { user: "leads", team: "" } }, { owner: { user: "", team: "leads" } }),
    ).rejects.toMatchObject(refusal);
  });

  test("project ownership covers what members get, and the other way round", async () => {
    const { change } = platform();
    const asUser = { owner: { user: "zoe", team: "" }, members: [] };
    const asMember = { owner: { user: "", team: "" }, members: [member("zoe", "postern:project-admin")] };
    await expect(change(asUser, asMember)).resolves.toBeUndefined();
    const asTeam = { owner: { user: "", team: "leads" }, members: [] };
    const admins = { kind: "Team", name: "leads", clusterRole: "postern:project-admin" };
    await expect(change(asTeam, { ...asMember, members: [admins] })).resolves.toBeUndefined();
  });

  test("a limited key grants no more than it allows", async () => {
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
