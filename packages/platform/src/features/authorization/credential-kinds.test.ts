// Which requests issue credentials of a cluster behind the proxy, and which rules of a key allow those.

import type { AccessKeyRule } from "@postern/api/access-key-restrictions";
import { describe, expect, test } from "vitest";
import { issuesCredential } from "./request/issues-credential.ts";
import type { PlatformRequest, TargetedRequest } from "./request/platform-request.ts";
import { allowingRule } from "./restrictions/rules.ts";
import {
  inner,
  intoCluster,
  intoSpace,
  intoVirtualCluster,
  management,
  names,
  openRule,
} from "./testing/memory-world.ts";

const TOKEN = { verb: "create", resource: "serviceaccounts", subresource: "token", namespace: "ci", name: "robot" };
const APPROVAL = {
  verb: "update",
  apiGroup: "certificates.k8s.io",
  resource: "certificatesigningrequests",
  subresource: "approval",
  name: "mine",
};

describe("requests that return credentials", () => {
  test.each<[Partial<TargetedRequest>, boolean]>([
    [TOKEN, true],
    [{ ...TOKEN, verb: "get" }, false],
    [{ ...TOKEN, subresource: "" }, false],
    [{ ...TOKEN, subresource: "status" }, false],
    [{ ...TOKEN, resource: "secrets" }, false],
    [{ ...TOKEN, apiGroup: "certificates.k8s.io" }, false],
    [{ ...TOKEN, isResourceRequest: false }, false],
    [APPROVAL, true],
    [{ ...APPROVAL, verb: "patch" }, true],
    [{ ...APPROVAL, verb: "get" }, false],
    [{ ...APPROVAL, subresource: "status" }, false],
    [{ ...APPROVAL, subresource: "" }, false],
    [{ ...APPROVAL, apiGroup: "" }, false],
    // Questions about several resources.
    [{ ...TOKEN, subresource: "*" }, true],
    [{ ...TOKEN, resource: "*" }, true],
    [{ ...TOKEN, resource: "*", subresource: "*" }, true],
    [{ ...TOKEN, resource: "*", subresource: "" }, true],
    [{ ...TOKEN, resource: "*", subresource: "status" }, false],
    [{ ...TOKEN, resource: "secrets", subresource: "*" }, false],
    [{ ...TOKEN, apiGroup: "*" }, true],
    [{ ...APPROVAL, apiGroup: "*", resource: "*", subresource: "" }, true],
    [{ ...APPROVAL, apiGroup: "other.io", resource: "*", subresource: "" }, false],
  ])("%j: %s", (request, gives) => {
    expect(issuesCredential(inner(request))).toBe(gives);
  });
});

describe("credentials of a cluster behind the proxy (security book 2)", () => {
  const opens = (rule: Partial<AccessKeyRule>, request: PlatformRequest): boolean =>
    allowingRule([{ ...openRule, ...rule }], request, names) === 0;
  const behind = [TOKEN, APPROVAL].flatMap((asked) => [
    intoVirtualCluster("a", "v1", asked),
    intoCluster("c1", asked),
    { ...intoSpace("a", "s1"), inner: inner(asked) },
  ]);
  const all = { group: "*", resources: ["*"], resourceNames: [] };

  test.each<[what: string, Partial<AccessKeyRule>, boolean]>([
    ["everything", {}, true],
    ["everything, by a star", { verbs: ["*"] }, true],
    ["everything there", { requestTargets: ["ProjectVirtualCluster", "ProjectSpace", "Cluster"] }, true],
    ["some verbs", { verbs: ["create", "update"] }, false],
    ["all resources, and no paths", { resources: [all] }, false],
    [
      "these resources by name",
      {
        resources: [
          { group: "", resources: ["serviceaccounts/token"], resourceNames: [] },
          { group: "certificates.k8s.io", resources: ["certificatesigningrequests/approval"], resourceNames: [] },
        ],
      },
      false,
    ],
    ["some namespaces", { namespaces: ["ci", ""] }, false],
    ["paths beside all resources", { resources: [all], nonResourceURLs: ["*"] }, false],
  ])("are returned with a rule that allows %s: %s", (_what, rule, open) => {
    for (const request of behind) expect({ request, open: opens(rule, request) }).toEqual({ request, open });
  });

  test("are distinguished from management API names", () => {
    expect(opens({ verbs: ["create"] }, management({ ...TOKEN, apiGroup: "" }))).toBe(true);
    expect(opens({ verbs: ["create"] }, intoVirtualCluster("a", "v1", { ...TOKEN, resource: "secrets" }))).toBe(true);
  });
});
