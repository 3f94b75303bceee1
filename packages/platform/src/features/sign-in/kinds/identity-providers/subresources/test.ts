// POST identityproviders/{name}/test: what the provider says, and the user whom a token or claims of it would sign in. It signs no user in, changes no
// user, and stores neither token nor claims.

import { type IdentityProviderTest, identityProviderTestSchema } from "@postern/api/identity-provider";
import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { badRequestError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { IssuerKeys } from "../../../../../foundation/issuers/issuer-keys.ts";
import {
  candidateKeys,
  decodeToken,
  isSignedBy,
  TokenError,
  timeError,
  type UnverifiedToken,
} from "../../../../../foundation/issuers/signed-token.ts";
import type { Directory } from "../../../../directory/directory.ts";
import { shownClaims } from "../../../../trust/trust-rule-state.ts";
import type { SignIn } from "../../../feature.ts";
import { usesAssertion } from "../../../providers/client-assertion.ts";
import { type MappedIdentity, mapClaims, SignInRefusal } from "../../../providers/map-claims.ts";
import { MAX_ID_TOKEN_LENGTH } from "../../../providers/provider-client.ts";
import { ProviderError } from "../../../providers/provider-faults.ts";
import { IDENTITY_PROVIDERS, type IdentityProviderState } from "../../../providers/provider-state.ts";
import { checkAuthentication } from "../../../providers/required-authentication.ts";

export type TestProviderDeps = {
  readonly names: PlatformNames;
  readonly signIn: Pick<SignIn, "providers" | "client" | "users" | "isReserved">;
  readonly issuerKeys: Pick<IssuerKeys, "find">;
  readonly directory: Pick<Directory, "teamsOf" | "teamsWith">;
  readonly clock: Clock;
};

type Status = NonNullable<IdentityProviderTest["status"]>;
type Check = NonNullable<Status["checks"]>[number];

const check = (type: string, field: string, fault: string | undefined, good: string): Check => ({
  type,
  field,
  status: fault === undefined ? "True" : "False",
  message: fault ?? good,
});

export function testProvider(deps: TestProviderDeps): Subresource {
  const { names, signIn } = deps;
  const { managementGroup } = names;
  return {
    name: "test",
    kind: { group: managementGroup, version: "v1", kind: "IdentityProviderTest" },
    schema: identityProviderTestSchema,
    description: "Tests the provider, and whom a token or claims of it sign in, without signing anyone in.",
    async create({ info: { name } }, body) {
      const provider = signIn.providers.get(name);
      if (provider === undefined) throw notFoundError({ group: managementGroup, resource: IDENTITY_PROVIDERS }, name);
      // The schema of the kind has checked it.
      const { idToken, claims } = (body as IdentityProviderTest).spec ?? {};
      if (idToken !== undefined && claims !== undefined)
        throw badRequestError("spec: an ID token has claims of its own: send either idToken or claims");
      const { checks, ...described } = await describeProvider(provider, deps);
      const said = idToken === undefined ? { checks: [], claims } : await readIdToken(idToken, provider, deps);
      const mapped = said.claims === undefined ? undefined : whoWouldEnter(said.claims, provider, deps);
      const all = [
        ...checks,
        ...said.checks,
        ...authenticationChecks(said.claims, provider, deps.clock.now()),
        ...(mapped?.checks ?? []),
      ];
      const status: Status = {
        accepted: all.every((each) => each.status === "True"),
        checks: all,
        ...described,
        ...(idToken === undefined || said.claims === undefined ? {} : { claims: shownClaims(said.claims) }),
        ...(mapped?.identity === undefined ? {} : { identity: mapped.identity }),
        ...(mapped?.user === undefined ? {} : { user: mapped.user }),
      };
      // Neither token nor claims are sent back.
      const answer = { apiVersion: body.apiVersion, kind: body.kind, metadata: { name }, spec: {}, status };
      return answer;
    },
  };
}

/** Only what the provider's own settings lead to is asked, as often as its settings are read anyway. */
async function describeProvider(
  provider: IdentityProviderState,
  { signIn: { client }, issuerKeys }: TestProviderDeps,
): Promise<Pick<Status, "provider"> & { readonly checks: readonly Check[] }> {
  const enabled = check(
    "Enabled",
    "spec.disabled",
    provider.isOff ? "the provider is disabled" : undefined,
    "the provider is enabled",
  );
  const fault = await client.faultOf(provider);
  // The provider was not asked.
  if (fault?.reason === "NoClientCredential" && provider.spec.clientSecretRef !== undefined)
    return { checks: [enabled, check("Client", "spec.clientSecretRef", fault.message, "")] };
  const isFound = fault?.reason !== "DiscoveryFailed";
  const discovery = check("Discovery", "spec.issuer", isFound ? undefined : fault.message, "the provider answers");
  if (!isFound) return { checks: [enabled, discovery] };
  // A provider is often tested right after it was made, when its first fetch is under way.
  const { keys, fault: keyFault = "they were not fetched yet" } = await issuerKeys.find(
    provider.source,
    (known) => known.length === 0,
  );
  const isKnown = keys.length > 0;
  const description = await client.describe(provider).catch((error: unknown) => {
    // It went away between both questions, and the next test says so.
    if (error instanceof ProviderError) return undefined;
    throw error;
  });
  return {
    checks: [
      enabled,
      discovery,
      check("Client", "spec.clientId", fault?.message ?? methodFault(provider, description), goodClient(provider)),
      check("Keys", "spec.issuer", isKnown ? undefined : `its keys are not known: ${keyFault}`, "its keys are known"),
    ],
    ...(description === undefined
      ? {}
      : {
          provider: {
            ...description,
            scopes: [...description.scopes],
            claims: [...description.claims],
            clientAuthentication: [...description.clientAuthentication],
            keyIDs: keys.map(({ kid }) => kid),
          },
        }),
  };
}

const goodClient = ({ spec }: IdentityProviderState): string =>
  usesAssertion(spec)
    ? "the server can authenticate, and the provider has not refused the client"
    : "the provider has not refused the client";

/** Absent: the provider does not say which methods it has. */
function methodFault(
  { spec }: IdentityProviderState,
  description: { readonly clientAuthentication: readonly string[] } | undefined,
): string | undefined {
  const { clientAuthentication: methods = [] } = description ?? {};
  if (!usesAssertion(spec) || methods.length === 0 || methods.includes("private_key_jwt")) return undefined;
  return `the provider does not offer private_key_jwt, which clientAuthentication ${spec.clientAuthentication} needs`;
}

/** Claims are mapped although a check fails: an old token shows them as well. */
async function readIdToken(
  text: string,
  { source, spec }: IdentityProviderState,
  { issuerKeys, clock }: TestProviderDeps,
): Promise<{ readonly checks: readonly Check[]; readonly claims: JsonObject | undefined }> {
  let token: UnverifiedToken;
  try {
    token = decodeToken(text.trim(), { maxLength: MAX_ID_TOKEN_LENGTH });
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    return { checks: [check("Token", "", error.message, "")], claims: undefined };
  }
  const isOwn = token.issuer === source.issuer;
  const isForUs = token.audiences.includes(spec.clientId);
  return {
    checks: [
      check("Issuer", "spec.issuer.url", isOwn ? undefined : "the token is from another issuer (iss)", "it matches"),
      check("Audience", "spec.clientId", isForUs ? undefined : "the token is for another client (aud)", "it matches"),
      check("Time", "", timeError(token, clock.now()), "the token is valid now"),
      isOwn
        ? await signatureOf(token, source, issuerKeys)
        : { type: "Signature", field: "spec.issuer", status: "Unknown", message: "the token is from another issuer" },
    ],
    claims: token.claims,
  };
}

async function signatureOf(
  token: UnverifiedToken,
  source: IdentityProviderState["source"],
  issuerKeys: TestProviderDeps["issuerKeys"],
): Promise<Check> {
  const { keys } = await issuerKeys.find(source, (known) => candidateKeys(token, known).length === 0);
  const candidates = candidateKeys(token, keys);
  const fault =
    candidates.length === 0
      ? "no key of the provider matches the kid and alg of the token"
      : (await isSignedBy(token, candidates))
        ? undefined
        : "the signature is wrong";
  return check("Signature", "spec.issuer", fault, "the provider signed the token");
}

/** Empty where the provider requires nothing, or there are no claims. */
function authenticationChecks(
  claims: JsonObject | undefined,
  { spec }: IdentityProviderState,
  now: number,
): readonly Check[] {
  if (claims === undefined || spec.requiredAuthentication === undefined) return [];
  const field = "spec.requiredAuthentication";
  try {
    checkAuthentication(spec, claims, now);
    return [check("Authentication", field, undefined, "the person has authenticated as required")];
  } catch (error) {
    if (!(error instanceof SignInRefusal)) throw error;
    return [check("Authentication", field, error.message, "")];
  }
}

/** The identity in the claims, and the user that it leads to. */
function whoWouldEnter(
  claims: JsonObject,
  provider: IdentityProviderState,
  { signIn: { users, isReserved }, directory }: TestProviderDeps,
): Pick<Status, "identity" | "user"> & { readonly checks: readonly Check[] } {
  let identity: MappedIdentity;
  try {
    identity = mapClaims(provider, claims, isReserved);
  } catch (error) {
    if (!(error instanceof SignInRefusal)) throw error;
    return { checks: [check("Claims", "spec.claimMappings", error.message, "")] };
  }
  const { emailVerified: _, ...shown } = identity;
  const mapped = { identity: { ...shown, groups: [...shown.groups] } };
  const isMapped = check("Claims", "spec.claimMappings", undefined, "they name a user");
  try {
    const found = users.find(provider, identity);
    const isNew = found.how === "Created";
    const name = isNew ? found.name : found.user.name;
    const teams = new Set(directory.teamsWith(name, identity.groups).map((team) => team.name));
    for (const team of isNew ? (provider.spec.teams ?? []) : directory.teamsOf(name).map((one) => one.name))
      teams.add(team);
    const good = {
      Known: "the user has this identity",
      Linked: "the user would be linked",
      Created: "the user would be created",
    };
    return {
      ...mapped,
      user: { name, how: found.how, teams: [...teams] },
      checks: [isMapped, check("User", "", undefined, good[found.how])],
    };
  } catch (error) {
    if (!(error instanceof SignInRefusal)) throw error;
    return { ...mapped, checks: [isMapped, check("User", "", error.message, "")] };
  }
}
