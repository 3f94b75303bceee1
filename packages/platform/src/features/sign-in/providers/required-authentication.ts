// How a person has to have authenticated at a provider for a sign-in: by what (acr), and how long ago (auth_time).
// Source: OpenID Connect Core 1.0, sections 2, 3.1.2.1 and 3.1.3.7

import type { IdentityProviderSpec } from "@postern/api/identity-provider";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { CLOCK_SKEW_MS } from "../../../foundation/issuers/signed-token.ts";
import { SignInRefusal } from "./map-claims.ts";
import { said } from "./provider-faults.ts";

type Required = Pick<IdentityProviderSpec, "requiredAuthentication">;

/** Parameters of the authorization request. Providers may ignore them. */
export function authenticationParameters({ requiredAuthentication: { acrValues = [], maxAge } = {} }: Required): {
  readonly [name: string]: string;
} {
  return {
    ...(acrValues.length === 0 ? {} : { acr_values: acrValues.join(" ") }),
    ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
  };
}

/**
 * `idToken`: its claims. Those of the userinfo endpoint say nothing about this sign-in. `now` in milliseconds since the epoch. Throws
 * SignInRefusal.
 */
export function checkAuthentication(
  { requiredAuthentication: { acrValues = [], maxAge } = {} }: Required,
  { acr, auth_time: authTime }: JsonObject,
  now: number,
): void {
  if (acrValues.length > 0) {
    if (typeof acr !== "string")
      throw new SignInRefusal("the provider does not say how you authenticated (acr), which this platform requires");
    if (!acrValues.includes(acr))
      throw new SignInRefusal(
        `you authenticated by ${said(acr)} (acr), and this platform requires ${acrValues.join(" or ")}: sign in again with a stronger method`,
      );
  }
  if (maxAge === undefined) return;
  if (typeof authTime !== "number")
    throw new SignInRefusal(
      "the provider does not say when you authenticated (auth_time), which this platform requires",
    );
  if (authTime * 1000 > now + CLOCK_SKEW_MS)
    throw new SignInRefusal("the time at which you authenticated (auth_time) is in the future");
  if (!(authTime * 1000 >= now - maxAge * 1000 - CLOCK_SKEW_MS))
    throw new SignInRefusal(
      `you authenticated at the provider more than ${maxAge} seconds ago: sign out there, and sign in again`,
    );
}
