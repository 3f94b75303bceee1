import type { User } from "@postern/api/user";
import { describe, expect, it } from "vitest";
import { defaultConfiguration } from "../../foundation/config/configuration.ts";
import { checkNames } from "./check-names.ts";

const user = (name: string, spec: object, annotations: Record<string, string> = {}) =>
  ({ metadata: { name, annotations }, spec }) as User;
const identities = [{ provider: "company", subject: "1" }];

describe("names of another cluster's users", () => {
  const alone = defaultConfiguration("/");
  const configuration = { ...alone, frontProxy: { ...alone.frontProxy, clientCAFile: "/ca.pem" } };

  it.each<readonly [string, User, boolean]>([
    ["a user of sign-in", user("jane", { subject: "host:jane", identities }), true],
    ["a user of a directory", user("joe", { subject: "Host:joe" }, { "postern/provisioned-by": "user/scim" }), true],
    ["a group", user("ann", { groups: ["host:devs"], identities }), true],
    ["a group of a provider", user("eve", { identities: [{ ...identities[0], groups: ["host:devs"] }] }), true],
    ["a user that an administrator made", user("given", { subject: "host:given" }), false],
    ["another name", user("hostess", { identities }), false],
  ])("are found in %s, or not", (_what, one, isFound) => {
    const [finding] = checkNames([one], configuration);
    expect(finding?.status).toBe(isFound ? "warning" : "ok");
    if (isFound) expect(finding?.message).toContain(one.metadata.name);
  });

  it("are not looked for without another cluster, and a few are named of many", () => {
    const many = Array.from({ length: 7 }, (_, at) => user(`u${at}`, { subject: `host:u${at}`, identities }));
    expect(checkNames(many, alone)).toEqual([]);
    expect(checkNames(many, configuration)[0]?.message).toMatch(/u0, u1, u2, u3, u4 and 2 more$/);
  });
});
