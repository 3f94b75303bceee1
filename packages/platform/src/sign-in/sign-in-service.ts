// What all ways of signing in have in common: from the answer of a provider to a user, and from that to the key of a session.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { IdentityProviders } from "./identity-providers.ts";
import type { LoginKey, MintLogin, SignedIn } from "./login-keys.ts";
import { mapClaims, SignInRefusal } from "./map-claims.ts";
import type { ProviderAnswer } from "./provider-client.ts";
import type { IdentityProviderState } from "./provider-state.ts";
import type { SignInUsers } from "./sign-in-users.ts";

/** Who has proven to a provider who they are, as the steps of a sign-in hand it on: sealed wherever it is kept. */
export type Proof = { readonly provider: string; readonly terms: string; readonly signedIn: SignedIn };

export type ManagementCall = {
  readonly method: string;
  /** Below the group of the management API. */
  readonly path: string;
  readonly key: string;
  /** The address of whoever asks. */
  readonly from: string;
  readonly body?: JsonObject;
};
export type ManagementAnswer = { readonly status: number; readonly body: JsonObject };

export type SignInService = {
  /** Rejects with SignInRefusal. */
  enter(provider: IdentityProviderState, answer: ProviderAnswer): Promise<Proof>;
  /** The key of the session. `on` says where it is. Rejects with SignInRefusal. */
  mint(proof: Proof, on: string): Promise<LoginKey>;
  /** A session for whoever has an access key that may make others. Rejects with SignInRefusal. */
  mintWithKey(key: string, on: string, from: string): Promise<LoginKey>;
  readonly call: (call: ManagementCall) => Promise<ManagementAnswer>;
};

export type SignInServiceOptions = {
  readonly providers: Pick<IdentityProviders, "get">;
  readonly users: SignInUsers;
  readonly mintLogin: MintLogin;
  readonly isReserved: (name: string) => boolean;
  readonly apiVersion: string;
  /** Of what a key gives that somebody signs in with, in seconds. */
  readonly keySessionSeconds: number;
  readonly call: (call: ManagementCall) => Promise<ManagementAnswer>;
  readonly now: () => number;
};

export function createSignInService(options: SignInServiceOptions): SignInService {
  const { providers, users, mintLogin, isReserved, apiVersion, keySessionSeconds, call, now } = options;
  return {
    call,
    async enter(provider, { claims, subject: sub, sid, refreshToken }) {
      const identity = mapClaims(provider, claims, isReserved);
      const user = await users.enter(provider, identity);
      const signedIn = { user, identity, sub, sid, refreshToken };
      return { provider: provider.name, terms: provider.terms, signedIn };
    },
    async mint({ provider: name, terms, signedIn }, on) {
      const provider = providers.get(name);
      // Whoever was let in by other rules a moment ago asks again.
      if (provider === undefined || provider.isOff || provider.terms !== terms)
        throw new SignInRefusal("the identity provider was changed meanwhile: sign in again");
      return await mintLogin(provider, signedIn, on);
    },
    async mintWithKey(key, on, from) {
      const spec = { displayName: on, type: "Login", ttl: keySessionSeconds };
      const body = { apiVersion, kind: "OwnedAccessKey", metadata: { generateName: "login-" }, spec };
      const answer = await call({ method: "POST", path: "ownedaccesskeys", key, from, body });
      const made = answer.body["spec"];
      const value = isJsonObject(made) ? made["key"] : undefined;
      if (answer.status === 401) throw new SignInRefusal("the access key is not good");
      if (answer.status !== 201 || typeof value !== "string")
        throw new SignInRefusal("the access key may not make another one, which a session in the browser needs");
      return { value, expiresAt: now() + keySessionSeconds * 1000 };
    },
  };
}

/** As it is kept in a record. */
export const writeProof = (proof: Proof): JsonObject => ({ proof: JSON.stringify(proof) });

export function readProof(content: JsonObject): Proof | undefined {
  const { proof } = content;
  if (typeof proof !== "string") return undefined;
  // Sealed by this server alone.
  return parseJson(proof) as unknown as Proof;
}
