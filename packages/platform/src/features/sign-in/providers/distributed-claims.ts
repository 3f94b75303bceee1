// Fetches distributed claims: claims that the provider names and does not send, such as those of users in many groups (Entra ID: overage).
// Source: OpenID Connect Core 1.0, section 5.6.2; learn.microsoft.com/entra/identity-platform/access-token-claims-reference

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { httpsUrl } from "../../../foundation/issuers/fetch-key-set.ts";
import { GROUPS_CLAIM } from "./map-claims.ts";
import type { ProviderFetch } from "./provider-fetch.ts";
import type { IdentityProviderState } from "./provider-state.ts";

type DistributedClaimsDeps = {
  readonly provider: IdentityProviderState;
  readonly accessToken: string;
  readonly userInfoUrl: string | undefined;
  readonly fetch: ReturnType<ProviderFetch>;
  readonly verified: (token: string) => Promise<JsonObject>;
};

/** With the claim of the groups, if it can be fetched. If not, `missingGroups` finds that it is missing. */
export async function withDistributedClaims(claims: JsonObject, deps: DistributedClaimsDeps): Promise<JsonObject> {
  const { _claim_names: names, _claim_sources: sources, ...others } = claims;
  const name = deps.provider.spec.claimMappings.groups === undefined ? "" : GROUPS_CLAIM;
  const named = isJsonObject(names) ? names[name] : undefined;
  const source = typeof named === "string" && isJsonObject(sources) ? sources[named] : undefined;
  if (claims[name] !== undefined || !isJsonObject(source)) return claims;
  try {
    const value = await fetchClaim(name, source, deps);
    return value === undefined ? claims : { ...others, [name]: value };
  } catch {
    // The user and the administrator see that groups are missing.
    return claims;
  }
}

async function fetchClaim(
  name: string,
  source: JsonObject,
  deps: DistributedClaimsDeps,
): Promise<JsonValue | undefined> {
  const { JWT: token, endpoint, access_token: own } = source;
  // An aggregated claim, section 5.6.2.1.
  if (typeof token === "string") return (await deps.verified(token))[name];
  if (typeof endpoint !== "string") return undefined;
  const url = httpsUrl(currentAddress(endpoint), "the endpoint of a claim");
  const trusted = [deps.provider.source.issuer, deps.userInfoUrl ?? deps.provider.source.issuer];
  const isOwn = trusted.some((each) => new URL(each).origin === url.origin);
  const bearer = typeof own === "string" ? own : isOwn ? deps.accessToken : undefined;
  const isGraph = url.pathname.endsWith("/getMemberObjects");
  const response = await deps.fetch(url.href, {
    method: isGraph ? "POST" : "GET",
    headers: {
      accept: isGraph ? "application/json" : "application/jwt, application/json",
      ...(isGraph ? { "content-type": "application/json" } : {}),
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    },
    body: isGraph ? JSON.stringify({ securityEnabledOnly: false }) : undefined,
    redirect: "manual",
  });
  if (response.status !== 200) return undefined;
  const text = await response.text();
  const isToken = (response.headers.get("content-type") ?? "").startsWith("application/jwt");
  const answer = isToken ? await deps.verified(text.trim()) : parseJson(text, { maxDepth: 10 });
  return isJsonObject(answer) ? (answer[name] ?? answer["value"]) : undefined;
}

const OLD_GRAPH = "graph.windows.net";

/** Entra ID still names its retired API. */
function currentAddress(endpoint: string): string {
  if (!URL.canParse(endpoint) || new URL(endpoint).hostname !== OLD_GRAPH) return endpoint;
  const [, , ...path] = new URL(endpoint).pathname.split("/");
  return `https://graph.microsoft.com/v1.0/${path.join("/")}`;
}
