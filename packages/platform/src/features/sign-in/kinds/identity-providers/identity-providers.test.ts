// Which identity providers are accepted, and who may write one.

import type { IdentityProvider } from "@postern/api/identity-provider";
import { describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../../testing/running-platform.ts";
import { validateIdentityProvider } from "./validation.ts";

const good = {
  issuer: { url: "https://issuer.test" },
  clientId: "postern",
  claimMappings: { username: { claim: "preferred_username" } },
};
const faults = (spec: object): readonly string[] =>
  validateIdentityProvider({ spec: { ...good, ...spec } } as unknown as IdentityProvider).map(
    ({ field }) => field ?? "",
  );
const mapped = (username: object) => ({ claimMappings: { username } });

describe("the validation of identity providers", () => {
  it("takes what is right", () => {
    expect(faults({})).toEqual([]);
    expect(faults(mapped({ expression: "claims.email.split('@')[0]" }))).toEqual([]);
  });

  it.each([
    [{ issuer: { url: "http://issuer.test" } }, "spec.issuer.url"],
    [{ issuer: { url: "https://a:b@issuer.test" } }, "spec.issuer.url"],
    [{ issuer: { url: "https://issuer.test", certificateAuthority: "none" } }, "spec.issuer.certificateAuthority"],
    [{ scopes: ["a b"] }, "spec.scopes[0]"],
    [{ requiredAuthentication: { acrValues: ["mfa", "a b"] } }, "spec.requiredAuthentication.acrValues[1]"],
    [mapped({}), "spec.claimMappings.username"],
    [mapped({ claim: "a", expression: "claims.a" }), "spec.claimMappings.username"],
    [mapped({ expression: "claims.(" }), "spec.claimMappings.username.expression"],
    [mapped({ expression: "claims.a", prefix: "x:" }), "spec.claimMappings.username.prefix"],
    [{ claimValidationRules: [{ claim: "hd" }] }, "spec.claimValidationRules[0].requiredValue"],
    [{ claimValidationRules: [{ expression: "'text'" }] }, "spec.claimValidationRules[0].expression"],
  ])("refuses %j", (spec, field) => {
    expect(faults(spec)).toEqual([field]);
  });
});

describe("the writer of an identity provider", () => {
  it("may act as any user and any group, and reads the secret", async () => {
    await using platform: RunningPlatform = await startPlatform();
    await platform.create("users", { metadata: { name: "clerk" } });
    const role = (rules: readonly object[]) =>
      platform.send({
        method: "PUT",
        path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/clerk",
        body: { metadata: { name: "clerk" }, rules },
      });
    await platform.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name: "clerk" } });
    await platform.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: "clerk" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "clerk" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "clerk" }],
    });
    const made = await platform.create("ownedaccesskeys", { metadata: { name: "clerk" }, spec: { user: "clerk" } });
    const write = async (name: string, spec: object = {}) =>
      (
        await platform.send({
          path: "identityproviders",
          key: made.spec.key,
          body: { metadata: { name }, spec: { ...good, ...spec } },
        })
      ).status;
    const providers = { apiGroups: ["management.postern"], resources: ["identityproviders"], verbs: ["*"] };
    const users = { apiGroups: ["management.postern", ""], resources: ["users"], verbs: ["impersonate"] };
    await role([providers]);
    expect(await write("a")).toBe(403);
    await role([providers, users]);
    expect(await write("a")).toBe(403);
    await role([providers, users, { apiGroups: [""], resources: ["groups"], verbs: ["impersonate"] }]);
    expect(await write("a")).toBe(201);
    const clientSecretRef = { secretNamespace: "p-default", secretName: "other", key: "clientSecret" };
    expect(await write("b", { clientSecretRef })).toBe(403);
  });
});

it("warns of required authentication that requires nothing, such as a list that a template left empty", async () => {
  await using platform: RunningPlatform = await startPlatform();
  const warned = async (name: string, requiredAuthentication: object) =>
    (
      await platform.send({
        path: "identityproviders",
        body: { metadata: { name }, spec: { ...good, requiredAuthentication } },
      })
    ).warnings.join();
  expect(await warned("a", { acrValues: [] })).toContain("set acrValues or maxAge");
  expect(await warned("b", { acrValues: ["mfa"] })).toBe("");
  expect(await warned("c", { maxAge: 60 })).toBe("");
});
