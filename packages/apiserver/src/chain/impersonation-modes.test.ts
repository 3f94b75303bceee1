// The questions of each mode, beside those that test/e2e/constrained-impersonation.test.ts compares with kube-apiserver.

import { describe, expect, it } from "vitest";
import type { UserInfo } from "../authentication/user-info.ts";
import { IMPERSONATION_MODES, type ImpersonationPlan } from "./impersonation-modes.ts";
import type { ImpersonationRequest } from "./impersonation-request.ts";

const AGENT = "system:serviceaccount:kube-system:agent";
const NODE_NAME = "authentication.kubernetes.io/node-name";
const onNode = (...names: string[]): UserInfo => ({
  name: AGENT,
  groups: [],
  extra: { [NODE_NAME]: names, "a.io/b": ["c"] },
});

const plansFor = (asked: Partial<ImpersonationRequest>, user: UserInfo = { name: "agent", groups: [] }) =>
  IMPERSONATION_MODES.flatMap(
    (mode) =>
      mode(
        { user: "", uid: "", groups: [], extra: {}, ...asked },
        {
          user,
          verb: "get",
          isResourceRequest: true,
          apiGroup: "",
          apiVersion: "v1",
          resource: "pods",
          subresource: "",
          namespace: "",
          name: "p",
          path: "",
        },
      ) ?? [],
  );
const constraints = (plans: readonly ImpersonationPlan[]) => plans.map(({ constraint }) => constraint);

describe("modes of impersonation", () => {
  it("lets a ServiceAccount act as the node that it runs on, by a role that names no node", () => {
    const [plan, ...others] = plansFor({ user: "system:node:n1" }, onNode("n1"));
    expect(constraints(others)).toEqual(["impersonate:arbitrary-node", undefined]);
    expect(plan?.constraint).toBe("impersonate:associated-node");
    expect(plan?.user).toEqual({ name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] });
    expect(plan?.steps.flatMap(({ each }) => each).map(({ verb, resource, name }) => [verb, resource, name])).toEqual([
      ["impersonate-on:associated-node:get", "pods", "p"],
      ["impersonate:associated-node", "nodes", "*"],
    ]);
    const [first] = plan?.steps[0]?.each ?? [];
    expect(first?.user.extra).toEqual({
      "authentication.kubernetes.io/associated-node-keys": ["a.io/b", NODE_NAME],
    });
  });

  it.each<readonly [name: string, asked: Partial<ImpersonationRequest>, user: UserInfo]>([
    ["another node", { user: "system:node:n2" }, onNode("n1")],
    ["a node of several", { user: "system:node:n1" }, onNode("n1", "n2")],
    ["its node, by a user that is no ServiceAccount", { user: "system:node:n1" }, { ...onNode("n1"), name: "agent" }],
  ])("does not take for associated: %s", (_name, asked, user) => {
    expect(constraints(plansFor(asked, user))).toEqual(["impersonate:arbitrary-node", undefined]);
  });

  it.each<readonly [asked: Partial<ImpersonationRequest>, expected: readonly (string | undefined)[]]>([
    [{ user: "bob" }, ["impersonate:user-info", undefined]],
    [{ user: "system:node:" }, ["impersonate:user-info", undefined]],
    [{ user: "system:node:UPPER" }, ["impersonate:user-info", undefined]],
    [{ user: "system:node:n1", groups: ["system:masters"] }, [undefined]],
    [{ user: "system:serviceaccount:a:b" }, ["impersonate:serviceaccount", undefined]],
    [{ user: "system:serviceaccount:a:b", uid: "u" }, [undefined]],
    [{ user: "system:serviceaccount:a:b", extra: { "a.io/b": ["c"] } }, [undefined]],
    [{ user: "system:serviceaccount:a" }, ["impersonate:user-info", undefined]],
  ])("has for %j the modes %j", (asked, expected) => {
    expect(constraints(plansFor(asked))).toEqual(expected);
  });

  it.each<readonly [asked: Partial<ImpersonationRequest>, refusal: string]>([
    [{ groups: ["a", ""] }, "impersonating the empty string group is not allowed"],
    [{ groups: ["system:masters"] }, "impersonating the system:masters group is not allowed"],
    [{ extra: { "": ["x"] } }, "impersonating the empty string key in extra is not allowed"],
    [{ extra: { "a.io/": ["x"] } }, "must be a domain-prefixed path"],
    [{ extra: { "a.io/b c": ["x"] } }, "Invalid path"],
    [{ extra: { "a.io/B": ["x"] } }, "impersonating a non-lowercase key in extra is not allowed"],
    [{ extra: { "a.io/b": ["x", ""] } }, "impersonating the empty string value in extra is not allowed"],
  ])("refuses %j whatever the roles say", (asked, refusal) => {
    const [plan] = plansFor({ user: "bob", ...asked });
    expect(plan?.steps.map((step) => step.refusal ?? "").join("")).toContain(refusal);
  });

  it("asks once for all from four groups or values on", () => {
    const groups = ["a", "b", "c", "d"];
    const [few] = plansFor({ user: "bob", groups: groups.slice(1) });
    const [many] = plansFor({ user: "bob", groups, extra: { "a.io/b": groups } });
    expect(few?.steps.flatMap(({ all }) => all ?? [])).toEqual([]);
    expect(many?.steps.flatMap(({ all }) => all ?? []).map((one) => [one.resource, one.subresource, one.name])).toEqual(
      [
        ["groups", "", "*"],
        ["userextras", "*", "*"],
      ],
    );
  });
});
