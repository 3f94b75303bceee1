// Identities made from a provider's claims.

import type { IdentityProviderSpec } from "@postern/api/identity-provider";
import { expect, it } from "vitest";
import { compileClaims, mapClaims, SignInRefusal } from "./map-claims.ts";

const isReserved = (name: string): boolean => name.startsWith("system:") || name.startsWith("postern:");
const map = (spec: object, claims: object) => {
  const whole = {
    issuer: { url: "https://issuer.test" },
    clientId: "c",
    claimMappings: { username: { claim: "preferred_username" }, groups: { claim: "groups", prefix: "idp:" } },
    ...spec,
  } as IdentityProviderSpec;
  const all = { sub: "1", preferred_username: "jane", ...claims };
  return mapClaims({ spec: whole, claims: compileClaims(whole) }, all, isReserved);
};
const refusal = (spec: object, claims: object = {}): string => {
  try {
    map(spec, claims);
  } catch (error) {
    if (error instanceof SignInRefusal) return error.message;
    throw error;
  }
  return "";
};
const named = (username: object) => ({ claimMappings: { username } });

it("takes names, groups and what else there is", () => {
  expect(map({}, { groups: ["a", "b", "a"], email: "j@x", email_verified: true, name: "Jane" })).toEqual({
    ...{ subject: "1", username: "jane", groups: ["idp:a", "idp:b"], email: "j@x", emailVerified: true },
    ...{ displayName: "Jane", extra: {}, warning: "" },
  });
  expect(map(named({ expression: "claims.email.split('@')[0]" }), { email: "joe@x" }).username).toBe("joe");
});

it("gives no user groups of the system", () => {
  const groups = ["system:masters", "postern:admins", "devs"];
  expect(
    map({ claimMappings: { username: { claim: "sub" }, groups: { claim: "groups" } } }, { groups }).groups,
  ).toEqual(["devs"]);
});

it("leaves out groups with invisible characters, and removes these characters from display names", () => {
  const groups = ["a\nImpersonate-User: admin", "b\u0000", "\u202ec", " d", "\ud800", "группа", "😀"];
  expect(map({}, { groups, name: "J\u001b[2Jane" })).toMatchObject({
    ...{ groups: ["idp: d", "idp:группа", "idp:😀"], displayName: "J[2Jane" },
  });
});

it.each([
  [{}, { preferred_username: 7 }, "returned no username"],
  [{}, { preferred_username: "system:admin" }, "reserved"],
  [{}, { preferred_username: ["a", "b"] }, "several values"],
  [named({ claim: "email" }), { email: "j@x", email_verified: false }, "not verified"],
  [named({ expression: "claims.email" }), { email: "j@x", email_verified: "true" }, "not verified"],
  [named({ claim: "/email" }), { email: "j@x", email_verified: "true" }, "not verified"],
  [named({ expression: "claims['email']" }), { email: "j@x", email_verified: false }, "not verified"],
  [{}, { preferred_username: "admin\u200b" }, "invisible"],
  [{}, { preferred_username: "admin " }, "invisible"],
  [{}, { preferred_username: "a\nb" }, "invisible"],
  [{}, { preferred_username: "a\ud800" }, "invisible"],
  [named({ expression: "claims.absent" }), {}, "have no username"],
  [{ allowedGroups: ["idp:ops"] }, { groups: ["ops2"] }, "none of the groups"],
  [{ claimValidationRules: [{ claim: "hd", requiredValue: "x" }] }, { hd: "y" }, "do not allow you to sign in"],
  [{ claimValidationRules: [{ expression: "claims.hd == 'x'", message: "only x" }] }, {}, "only x"],
  [{ claimValidationRules: [{ expression: "claims.n > 5" }] }, { n: 5 }, "do not allow you to sign in"],
])("refuses %j with %j", (spec, claims, message) => {
  expect(refusal(spec, claims)).toContain(message);
});
