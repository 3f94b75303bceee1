// Sign-in with identity providers: the providers, their client, the users and teams that they bring, and the sessions.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { parseFederatedToken } from "../../foundation/config/rules.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import { allowExchange, anonymousCallers } from "../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../foundation/http/feature-route.ts";
import type { CallManagement } from "../../foundation/http/management-call.ts";
import type { Issuers } from "../../foundation/issuers/issuers.ts";
import { MAX_TOKEN_FORM_BYTES, type TokenGrants } from "../../foundation/issuers/token-endpoint.ts";
import { markTokenUsed } from "../../foundation/issuers/used-tokens.ts";
import { isReservedName } from "../../foundation/kinds/claimed-names.ts";
import type { ExpiringRecords } from "../../foundation/store/expiring-records.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import type { KeyMint } from "../access-keys/kinds/mint-keys.ts";
import type { Directory } from "../directory/directory.ts";
import { sessionGrants } from "./command-line/oauth-routes.ts";
import { createClientAssertions } from "./providers/client-assertion.ts";
import { type ClientKeys, openClientKeys } from "./providers/client-keys.ts";
import type { RefusalChannel } from "./providers/client-refusals.ts";
import type { IdentityProviders } from "./providers/identity-provider-index.ts";
import { createProviderClient, type ProviderClient } from "./providers/provider-client.ts";
import { fetchFromProviders } from "./providers/provider-fetch.ts";
import type { BackChannelLogoutDeps } from "./sessions/back-channel-logout.ts";
import { createMintChild, createMintLogin } from "./sessions/login-keys.ts";
import type { SignInRoutesDeps } from "./sign-in-deps.ts";
import { createSignInTransactions } from "./sign-in-flow.ts";
import { createSignInRecords } from "./sign-in-records.ts";
import { createSignInRoutes, isSignInPath, signInLimits } from "./sign-in-routes.ts";
import { createSignInService } from "./sign-in-service.ts";
import { createSignInUsers, type SignInUsers } from "./sign-in-users.ts";

export type SignIn = {
  readonly providers: IdentityProviders;
  readonly client: ProviderClient;
  readonly clientKeys: ClientKeys;
  readonly users: SignInUsers;
  readonly isReserved: (name: string) => boolean;
  /** Sign-ins in progress. */
  readonly records: ExpiringRecords;
  readonly backChannel: BackChannelLogoutDeps;
  readonly publicUrl: () => string;
};

export type SignInNeeds = {
  readonly providers: IdentityProviders;
  readonly directory: Directory;
  readonly keys: AccessKeys;
  readonly mint: KeyMint;
  readonly issuers: Issuers;
  /** To the other threads. Absent: there is one. */
  readonly refusalChannel?: RefusalChannel | undefined;
  /** The address of this server for clients. */
  readonly publicUrl: () => string;
};

export function createSignIn(base: Foundation, needs: SignInNeeds): SignIn {
  const { providers, directory, keys, mint, issuers, refusalChannel, publicUrl } = needs;
  const { names, storage, signal } = base;
  const { clock, scheduler } = base.runtime;
  const { keys: issuerKeys, takenTokens } = issuers;
  const clientKeys = openClientKeys(base);
  const tokenFiles = new Map(
    base.configuration.federatedTokenFiles.flatMap((text) => {
      const found = parseFederatedToken(text);
      return found === undefined ? [] : [[found.issuer, found.file] as const];
    }),
  );
  const client = createProviderClient({
    assertions: createClientAssertions({ keys: clientKeys, tokenFiles, clock, random: base.runtime.random }),
    fetchFrom: fetchFromProviders(base),
    issuerKeys,
    secretAt(namespace, name, key) {
      const { view, keys: secretKeys } = base.installed("", "Secret");
      const data = view.get(secretKeys.of(namespace, name))?.decode()["data"];
      const value = isJsonObject(data) ? data[key] : undefined;
      return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
    },
    refusalChannel,
    clock,
    scheduler,
  });
  const users = createSignInUsers(base, directory);
  const records = { ...base.records("sign-ins"), storage };
  const isReserved = (name: string): boolean => isReservedName(name, base);
  return {
    providers,
    client,
    clientKeys,
    users,
    isReserved,
    records,
    backChannel: {
      providers,
      issuerKeys,
      allKeys: () => keys.index.all(),
      take: ({ source }, id, expiresAt) =>
        markTokenUsed(takenTokens, { source, project: undefined }, `logout ${id}`, expiresAt),
      endSession: ({ name }) => mint.revoke(name, signal),
      annotation: (name) => names.key(name),
      now: () => clock.now(),
    },
    publicUrl,
  };
}

export type SignInRouteNeeds = Omit<SignInNeeds, "providers" | "issuers" | "refusalChannel" | "publicUrl"> & {
  readonly signIn: SignIn;
  /** Sends a request of a page to the management API, for the user who has signed in. */
  readonly call: CallManagement;
} & Pick<SignInRoutesDeps, "administrator" | "home">;

/** The pages and routes, and its grants at the token endpoint. */
export function signInRoute(
  base: Foundation,
  { signIn, directory, keys, mint, call, administrator, home }: SignInRouteNeeds,
): {
  readonly route: FeatureRoute;
  readonly grants: TokenGrants;
} {
  const { names, signal, onError } = base;
  const { clock, random } = base.runtime;
  const { providers, client, clientKeys, users, isReserved, publicUrl } = signIn;
  const deps: SignInRoutesDeps = {
    names,
    keys: keys.index,
    proofs: keys.proofs,
    providers,
    client,
    clientKeys,
    transactions: createSignInTransactions(keys.secrets, clock, random),
    records: createSignInRecords(signIn.records, keys.secrets, clock),
    service: createSignInService({
      providers,
      users,
      mintLogin: createMintLogin(mint, clock, signal),
      mintChild: createMintChild(base, mint, keys, directory),
      endSession: (keyName) => mint.revoke(keyName, signal),
      isReserved,
      apiVersion: `${names.managementGroup}/v1`,
      call,
    }),
    publicUrl,
    administrator,
    home,
    clock,
    rateLimiter: base.rateLimiter,
    onError,
  };
  return {
    route: {
      takes: isSignInPath,
      // Codes stand in the query.
      loggedUri: (path) => path,
      handle: createSignInRoutes(deps, signIn.backChannel),
      authenticator: anonymousCallers,
      authorizer: allowExchange,
      rateLimits: signInLimits(base),
      bodyBytes: MAX_TOKEN_FORM_BYTES,
    },
    grants: sessionGrants(deps),
  };
}
