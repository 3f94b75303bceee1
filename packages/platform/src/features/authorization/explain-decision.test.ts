// The explanation of a decision: code, message, audit annotations, and conditions.

import { describe, expect, it } from "vitest";
import { accessKey } from "../access-keys/testing/access-key.ts";
import { createPlatformAuthorizer } from "./platform-authorizer.ts";
import { management, memorySources, ruled, scoped, userInfo, withKey, world } from "./testing/memory-world.ts";

const alice = userInfo("alice");
const own = management({ resource: "users", name: "alice" });
const foreign = management({ resource: "users", name: "bob" });
const annotation = (right: string, scope: string) => ({
  "postern/authorization-right": right,
  "postern/authorization-scope": scope,
});

function decided(restrictions: Parameters<typeof accessKey>[0] = {}, owns = alice) {
  const sources = memorySources(world());
  const key = accessKey(restrictions);
  sources.access.setKey(key);
  return { sources, key, authorizer: createPlatformAuthorizer(sources), subject: withKey(owns, key) };
}

describe("a decision", () => {
  it("allows with the permission that grants the request", () => {
    const { authorizer, subject } = decided();
    expect(authorizer.explainDecision(own, subject)).toEqual({
      decision: {
        verdict: "allow",
        code: "own-user",
        reason: "is user alice",
        annotations: annotation("own-user", "unrestricted"),
      },
      steps: [
        { step: "key", passed: true, reason: "" },
        { step: "right", passed: true, reason: "is user alice" },
        { step: "scope", passed: true, reason: "unrestricted" },
      ],
    });
  });

  it("has no opinion where the owner has no permission, and still reports the scope", () => {
    const { authorizer, subject } = decided({ restrictions: scoped({}) });
    expect(authorizer.explainDecision(foreign, subject)).toEqual({
      decision: {
        verdict: "no-opinion",
        code: "no-right",
        reason: "",
        annotations: annotation("none", "out-of-scope"),
      },
      steps: [
        { step: "key", passed: true, reason: "" },
        { step: "right", passed: false, reason: "" },
        { step: "scope", passed: false, reason: "out-of-scope" },
      ],
    });
  });

  it.each([
    ["scope", scoped({}), "out-of-scope", "the scope of the access key does not allow this request"],
    ["rules", ruled({ verbs: ["list"] }), "out-of-rules", "the rules of the access key do not allow this request"],
  ])("denies what the %s of the key does not allow", (_part, restrictions, code, reason) => {
    const { authorizer, subject } = decided({ restrictions });
    expect(authorizer.decide(own, subject)).toEqual({
      verdict: "deny",
      code,
      reason,
      annotations: annotation("own-user", code),
    });
  });

  // kubernetes-fluent-client 3.11 leaves out the path of the server in its kubeconfig.
  it.each([
    [
      "virtual cluster",
      { virtualClusters: [{ project: "p", virtualCluster: "v" }] },
      "/kubernetes/project/p/virtualcluster/v",
    ],
    ["space", { spaces: [{ project: "p", space: "s" }] }, "/kubernetes/project/p/space/s"],
  ])("names the one %s that the key opens to programs that leave out its path", (_kind, scope, path) => {
    const { authorizer, subject } = decided({ restrictions: scoped(scope) });
    const opens = `the access key opens ${path} alone`;
    const [isOwn, isForeign] = [own, foreign].map((request) => authorizer.decide(request, subject));
    expect(isOwn).toMatchObject({
      verdict: "deny",
      reason: `the scope of the access key does not allow this request; ${opens}`,
    });
    expect(isForeign).toMatchObject({ verdict: "no-opinion", reason: opens });
  });

  it.each([
    [
      "two virtual clusters",
      { virtualClusters: ["v", "w"].map((virtualCluster) => ({ project: "p", virtualCluster })) },
    ],
    ["all virtual clusters of a project", { virtualClusters: [{ project: "p", virtualCluster: "*" }] }],
    ["a project as well", { projects: [{ project: "p" }], spaces: [{ project: "p", space: "s" }] }],
  ])("names no path where the key opens %s", (_what, scope) => {
    const { authorizer, subject } = decided({ restrictions: scoped(scope) });
    expect(authorizer.decide(foreign, subject).reason).toBe("");
  });

  it("denies everything to a deleted key, and reports no unknown scope", () => {
    const { authorizer, subject, sources, key } = decided();
    sources.access.setKey(undefined, key.id);
    expect(authorizer.explainDecision(own, subject)).toEqual({
      decision: {
        verdict: "deny",
        code: "key-refused",
        reason: "the access key is no longer accepted",
        annotations: { "postern/authorization-key": "deleted" },
      },
      steps: [
        { step: "key", passed: false, reason: "deleted" },
        { step: "right", passed: true, reason: "is user alice" },
      ],
    });
  });

  it("reads the scope against the owner of the key", () => {
    const subjectName = "postern:cluster:c1";
    const { authorizer, subject } = decided(
      {
        owner: { kind: "subject", name: subjectName },
        restrictions: scoped({ roles: [{ role: "agent", projects: [], virtualClusters: [] }] }),
      },
      { name: subjectName, groups: ["system:authenticated"] },
    );
    expect(authorizer.decide(management({ resource: "clusters", name: "c1" }), subject).verdict).toBe("allow");
    expect(authorizer.decide(management({ resource: "clusters", name: "c2" }), subject).verdict).toBe("no-opinion");
  });

  it("allows the server itself everything, and no credential the same (security book 29)", () => {
    const { authorizer, subject } = decided();
    const master = { name: "system:apiserver", groups: ["system:masters"] };
    expect(authorizer.explainDecision(foreign, { user: master })).toEqual({
      decision: { verdict: "allow", code: "masters", reason: "", annotations: {} },
      steps: [
        { step: "key", passed: true, reason: "" },
        { step: "right", passed: true, reason: "the server's own work" },
        { step: "scope", passed: true, reason: "unrestricted" },
      ],
    });
    expect(authorizer.decide(foreign, { ...subject, user: master }).verdict).toBe("no-opinion");
    expect(authorizer.decide(foreign, { user: master, credential: { id: "certificate:1" } }).verdict).toBe(
      "no-opinion",
    );
  });
});
