// Requirements for the claims of an ID token that say how a person authenticated.

import { expect, it } from "vitest";
import { authenticationParameters, checkAuthentication } from "./required-authentication.ts";

const NOW = Date.UTC(2026, 10, 30) + 500;
const SECONDS = Math.floor(NOW / 1000);
const required = { requiredAuthentication: { acrValues: ["mfa", "phr"], maxAge: 300 } };
const check =
  (claims: object, spec = required) =>
  () =>
    checkAuthentication(spec, { ...claims }, NOW);

it("asks for what is required, and for nothing by default", () => {
  expect(authenticationParameters(required)).toEqual({ acr_values: "mfa phr", max_age: "300" });
  expect(authenticationParameters({ requiredAuthentication: { acrValues: [] } })).toEqual({});
  expect(authenticationParameters({})).toEqual({});
});

it("accepts each value, and clocks that differ by half a minute", () => {
  for (const [acr, age] of [
    ["mfa", 0],
    ["phr", 300],
    ["mfa", 329],
    ["mfa", -30],
  ] as const) {
    expect(check({ acr, auth_time: SECONDS - age })).not.toThrow();
  }
  expect(() => checkAuthentication({}, {}, NOW)).not.toThrow();
});

it.each<[object, string]>([
  [{ auth_time: SECONDS }, "does not say how you authenticated (acr)"],
  [{ acr: ["mfa"], auth_time: SECONDS }, "does not say how you authenticated (acr)"],
  [{ acr: "mfa phr", auth_time: SECONDS }, "you authenticated by mfa phr (acr), and this platform requires mfa or phr"],
  [{ acr: "MFA", auth_time: SECONDS }, "you authenticated by MFA (acr)"],
  [{ acr: "mfa" }, "does not say when you authenticated (auth_time)"],
  [{ acr: "mfa", auth_time: String(SECONDS) }, "does not say when you authenticated (auth_time)"],
  [{ acr: "mfa", auth_time: SECONDS - 330 }, "more than 300 seconds ago"],
  [{ acr: "mfa", auth_time: SECONDS + 32 }, "is in the future"],
  [{ acr: "mfa", auth_time: Number.NaN }, "more than 300 seconds ago"],
])("refuses %j", (claims, why) => {
  expect(check(claims)).toThrow(why);
});
