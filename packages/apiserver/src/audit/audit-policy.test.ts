import { describe, expect, it } from "vitest";
import { resolveRequestInfo } from "../request/request-info.ts";
import { type AuditRule, createAuditPolicy } from "./audit-policy.ts";

const alice = { name: "alice", groups: ["devs"] };
const infoOf = (method: string, path: string) => resolveRequestInfo(method, path, new URLSearchParams());

function decide(rule: Omit<AuditRule, "level">, method: string, path: string) {
  return createAuditPolicy([{ level: "Request", ...rule }])(alice, infoOf(method, path)).level === "Request";
}

describe("createAuditPolicy", () => {
  it.each<[Omit<AuditRule, "level">, string, string, boolean]>([
    [{}, "GET", "/api/v1/pods", true],
    [{}, "GET", "/version", true],
    [{ users: ["alice"] }, "GET", "/version", true],
    [{ users: ["bob"] }, "GET", "/version", false],
    [{ userGroups: ["devs", "ops"] }, "GET", "/version", true],
    [{ userGroups: ["ops"] }, "GET", "/version", false],
    [{ verbs: ["list"] }, "GET", "/api/v1/pods", true],
    [{ verbs: ["create"] }, "GET", "/api/v1/pods", false],
    [{ resources: [{ group: "" }] }, "GET", "/api/v1/pods", true],
    [{ resources: [{ group: "" }] }, "GET", "/apis/apps/v1/deployments", false],
    [{ resources: [{ group: "" }] }, "GET", "/version", false],
    [{ resources: [{ group: "", resources: ["pods"] }] }, "GET", "/api/v1/pods/x/log", false],
    [{ resources: [{ group: "", resources: ["pods/log"] }] }, "GET", "/api/v1/pods/x/log", true],
    [{ resources: [{ group: "", resources: ["pods/*"] }] }, "GET", "/api/v1/pods/x/log", true],
    [{ resources: [{ group: "", resources: ["pods/*"] }] }, "GET", "/api/v1/pods/x", false],
    [{ resources: [{ group: "", resources: ["*/log"] }] }, "GET", "/api/v1/pods/x/log", true],
    [{ resources: [{ group: "", resources: ["*"] }] }, "GET", "/api/v1/pods/x/log", true],
    [{ resources: [{ group: "", resourceNames: ["x"] }] }, "GET", "/api/v1/pods/x", true],
    [{ resources: [{ group: "", resourceNames: ["x"] }] }, "GET", "/api/v1/pods/y", false],
    [{ namespaces: ["a"] }, "GET", "/api/v1/namespaces/a/pods", true],
    [{ namespaces: ["a"] }, "GET", "/api/v1/namespaces/b/pods", false],
    [{ namespaces: [""] }, "GET", "/api/v1/nodes", true],
    [{ nonResourceURLs: ["/healthz*"] }, "GET", "/healthz/ping", true],
    [{ nonResourceURLs: ["/healthz"] }, "GET", "/healthz/ping", false],
    [{ nonResourceURLs: ["*"] }, "GET", "/api/v1/pods", false],
    [{ nonResourceURLs: ["/x"], namespaces: ["a"] }, "GET", "/x", true],
  ])("a rule %j on %s %s: %j", (rule, method, path, expected) => {
    expect(decide(rule, method, path)).toBe(expected);
  });

  it("lets the first rule decide, and keeps nothing where none holds", () => {
    const policy = createAuditPolicy(
      [
        { level: "None", verbs: ["list"] },
        { level: "Metadata", resources: [{ group: "" }], omitStages: ["ResponseStarted"] },
      ],
      { omitStages: ["RequestReceived"] },
    );
    expect(policy(alice, infoOf("GET", "/api/v1/pods")).level).toBe("None");
    const decision = policy(alice, infoOf("GET", "/api/v1/pods/x"));
    expect(decision).toEqual({ level: "Metadata", omitStages: ["RequestReceived", "ResponseStarted"] });
    expect(policy(undefined, infoOf("GET", "/version")).level).toBe("None");
  });
});

it.each([
  [undefined, undefined, undefined],
  [true, undefined, true],
  [true, false, undefined],
  [false, true, true],
])("omits managed fields: %s for all, %s in the rule: %s", (all, own, expected) => {
  const policy = createAuditPolicy(
    [{ level: "Request", omitManagedFields: own }],
    all === undefined ? {} : { omitManagedFields: all },
  );
  expect(policy(alice, infoOf("GET", "/x")).omitManagedFields).toBe(expected);
});
