import type { AccessPolicy } from "@postern/api/access-policy";
import { createPlatformNames } from "@postern/api/platform-names";
import { describe, expect, it } from "vitest";
import { validateAccessPolicy } from "./validation.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const PROJECT = { kind: "Project", projects: ["shop"], roles: ["view"] };
const faults = (spec: object, namespace = ""): readonly string[] =>
  validateAccessPolicy(
    {
      apiVersion: "management.postern/v1",
      kind: "AccessPolicy",
      metadata: { name: "x", ...(namespace === "" ? {} : { namespace }) },
      spec: { requesters: { users: ["ann"] }, maxDurationSeconds: 60, targets: [PROJECT], ...spec },
    } as AccessPolicy,
    names,
  ).map(
    ({ field, message }) => `${field}: ${message.replace(/^(Required|Invalid) value: ("[^"]*": )?|^Forbidden: /, "")}`,
  );

describe("a policy", () => {
  it.each([
    ["a role in projects", {}],
    ["a role in all projects", { targets: [{ kind: "Project", projects: ["*"], roles: ["view"] }] }],
    [
      "virtual clusters by name",
      { targets: [{ kind: "VirtualCluster", projects: ["a"], names: ["b"], roles: ["edit"] }] },
    ],
    [
      "virtual clusters by label",
      {
        targets: [
          { kind: "VirtualCluster", projects: ["*"], selector: { matchLabels: { env: "prod" } }, roles: ["edit"] },
        ],
      },
    ],
    ["clusters", { targets: [{ kind: "Cluster", names: ["eu"] }] }],
    ["users by an expression", { requesters: { expression: "user.groups.exists(g, g == 'a') && !user.isBot" } }],
    ["automatic approval at night", { autoApprove: "now.getHours('Europe/Berlin') < 6 && request.role == 'view'" }],
    ["a pattern of the reason", { reason: { pattern: "^OPS-[0-9]{1,6}" } }],
    ["two approvers of a team", { approvers: { teams: ["leads"], count: 2 } }],
  ])("offers %s", (_, spec) => {
    expect(faults(spec)).toEqual([]);
  });

  it.each([
    ["no requesters", { requesters: {} }, "spec.requesters: name users"],
    ["an expression that is none", { requesters: { expression: "user." } }, "spec.requesters.expression: "],
    [
      "an expression over what it does not know",
      { requesters: { expression: "request.role == 'a'" } },
      "spec.requesters.expression: ",
    ],
    ["an expression that is not a condition", { autoApprove: "'yes'" }, "must evaluate to bool"],
    ["a pattern that is none", { reason: { pattern: "(" } }, "spec.reason.pattern: "],
    ["no projects", { targets: [{ kind: "Project", roles: ["view"] }] }, "spec.targets[0].projects: name projects"],
    ["no roles", { targets: [{ kind: "Project", projects: ["a"] }] }, "spec.targets[0].roles: name the roles"],
    [
      "all virtual clusters",
      { targets: [{ kind: "VirtualCluster", projects: ["a"], roles: ["edit"] }] },
      "spec.targets[0].names: ",
    ],
    [
      "an empty selector",
      { targets: [{ kind: "VirtualCluster", projects: ["a"], selector: {}, roles: ["edit"] }] },
      "spec.targets[0].names: ",
    ],
    ["a role for a cluster", { targets: [{ kind: "Cluster", names: ["a"], roles: ["b"] }] }, "spec.targets[0].roles: "],
    ["more approvals than approvers", { approvers: { users: ["a", "a"], count: 2 } }, "spec.approvers.count: "],
  ])("is refused with %s", (_, spec, fault) => {
    const found = faults(spec);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(fault);
  });

  it("of a project offers nothing outside of it", () => {
    expect(faults({ targets: [{ kind: "Project", roles: ["view"] }] }, "p-shop")).toEqual([]);
    expect(faults({}, "p-shop")).toEqual([]);
    const outside = "a policy of a project offers nothing outside of it";
    expect(faults({}, "p-other")).toEqual([`spec.targets[0].projects[0]: ${outside}`]);
    expect(faults({ targets: [{ kind: "Project", projects: ["*"], roles: ["a"] }] }, "p-a")).toEqual([
      `spec.targets[0].projects[0]: ${outside}`,
    ]);
    expect(faults({ targets: [{ kind: "Cluster", names: ["a"] }] }, "p-a")).toEqual([`spec.targets[0]: ${outside}`]);
    expect(faults({}, "default")).toEqual(["metadata.namespace: must be the namespace of a project"]);
  });
});
