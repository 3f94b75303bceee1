import { describe, expect, it } from "vitest";
import { type AuthorizationAttributes, unionAuthorizer, unionRuleResolver } from "./authorizer.ts";
import { mastersAuthorizer } from "./masters-authorizer.ts";

const request = (more: Partial<AuthorizationAttributes>): AuthorizationAttributes => ({
  user: { name: "alice", groups: [] },
  verb: "get",
  isResourceRequest: false,
  apiGroup: "",
  apiVersion: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  path: "",
  ...more,
});

describe("mastersAuthorizer", () => {
  const masters = { name: "root", groups: ["devs", "system:masters"] };

  it("allows the group everything, and no other user anything", async () => {
    const union = unionAuthorizer([mastersAuthorizer]);
    expect((await union.authorize(request({ user: masters }))).verdict).toBe("allow");
    expect((await union.authorize(request({ user: { name: "system:masters", groups: [] } }))).verdict).toBe(
      "no-opinion",
    );
  });

  it("reports full access to the masters group", async () => {
    const resolver = unionRuleResolver([mastersAuthorizer, mastersAuthorizer]);
    expect((await resolver.rulesFor(masters, "ns")).nonResourceRules).toHaveLength(2);
    expect((await resolver.rulesFor({ name: "a", groups: [] }, "ns")).resourceRules).toEqual([]);
  });
});
