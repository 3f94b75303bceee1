// Common steps of all ways to sign in: from the response of a provider to a user, and from the user to the key of a session.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { CallManagement } from "../../foundation/http/management-call.ts";
import type { Confirmation } from "../access-keys/proofs/proof-of-possession.ts";
import type { IdentityProviders } from "./providers/identity-provider-index.ts";
import { mapClaims, SignInRefusal } from "./providers/map-claims.ts";
import type { ProviderAnswer } from "./providers/provider-client.ts";
import type { IdentityProviderState } from "./providers/provider-state.ts";
import type { LoginKey, MintChild, MintLogin, SignedIn } from "./sessions/login-keys.ts";
import type { SignInUsers } from "./sign-in-users.ts";

/** A user who has authenticated at a provider, between the steps of a sign-in. Stored encrypted. */
export type Proof = { readonly provider: string; readonly terms: string; readonly signedIn: SignedIn };

export type SignInService = {
  /** Rejects with SignInRefusal. */
  enter(provider: IdentityProviderState, answer: ProviderAnswer): Promise<Proof>;
  /** The key of the session. `on` describes its place. Rejects with SignInRefusal. Default for `bond`: to nothing. */
  mint(proof: Proof, on: string, bond?: Confirmation): Promise<LoginKey>;
  /** A session for an access key, with the same limits and no later expiration. Rejects with SignInRefusal. */
  mintWithKey(key: string, on: string, from: string): Promise<LoginKey>;
  /** Deletes the key of a session, by its name. */
  endSession(keyName: string): Promise<void>;
  readonly call: CallManagement;
};

export function createSignInService(deps: {
  readonly providers: Pick<IdentityProviders, "get">;
  readonly users: SignInUsers;
  readonly mintLogin: MintLogin;
  readonly mintChild: MintChild;
  readonly endSession: (keyName: string) => Promise<void>;
  readonly isReserved: (name: string) => boolean;
  readonly apiVersion: string;
  readonly call: CallManagement;
}): SignInService {
  const { providers, users, mintLogin, mintChild, endSession, isReserved, apiVersion, call } = deps;
  return {
    call,
    endSession,
    async enter(provider, { claims, subject: sub, sid, refreshToken, issuedTo }) {
      const identity = mapClaims(provider, claims, isReserved);
      const user = await users.enter(provider, identity);
      const signedIn = { user, identity, sub, sid, refreshToken, issuedTo };
      return { provider: provider.name, terms: provider.terms, signedIn };
    },
    async mint({ provider: name, terms, signedIn }, on, bond) {
      const provider = providers.get(name);
      // The rules of the provider have changed since the user signed in.
      if (provider === undefined || provider.isOff || provider.terms !== terms)
        throw new SignInRefusal("the identity provider has changed: sign in again");
      return await mintLogin(provider, signedIn, on, bond);
    },
    async mintWithKey(key, on, from) {
      // As in authentication: failures are counted and delayed, and a retired value locks its key.
      const body = { apiVersion, kind: "Self", metadata: {}, spec: {} };
      const { status } = await call({ method: "POST", path: "selves", key, from, body });
      if (status === 401) throw new SignInRefusal("the access key is not valid", { isUnknown: true });
      if (status >= 300) throw new SignInRefusal("the access key cannot be verified now: try again later");
      return await mintChild(key, on);
    },
  };
}

/** As it is stored in a record. */
export const writeProof = (proof: Proof): JsonObject => ({ proof: JSON.stringify(proof) });

export function readProof(content: JsonObject): Proof | undefined {
  const { proof } = content;
  if (typeof proof !== "string") return undefined;
  // Sealed by this server alone.
  return parseJson(proof) as unknown as Proof;
}
