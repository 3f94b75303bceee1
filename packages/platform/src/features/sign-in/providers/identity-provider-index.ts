// The identity providers in memory, and what their sessions may still do.

import { followView } from "@postern/apiserver/cache/view-informer";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { IssuerSource } from "../../../foundation/issuers/issuer-source.ts";
import { isGrantOfRequest, type KeyGrant, type KeyGrants } from "../../access-keys/key-grant.ts";
import { type KeyRefusal, withdrawn } from "../../access-keys/validity/ready-reasons.ts";
import type { Directory } from "../../directory/directory.ts";
import { IDENTITY_PROVIDERS, type IdentityProviderState, PROVIDER_PREFIX, readProvider } from "./provider-state.ts";

export type IdentityProviders = KeyGrants &
  Disposable & {
    get(name: string): IdentityProviderState | undefined;
    /** In the order of their names. */
    all(): readonly IdentityProviderState[];
    sources(): Iterable<IssuerSource>;
  };

/**
 * Before access keys: a provider says whether the sessions that began with it are accepted. A change is in it before the write that made it is
 * answered. Sign-in with a provider that cannot be read is not possible.
 */
export function openIdentityProviders(
  { objects, runtime, onError }: Foundation,
  { directory }: { readonly directory: Directory },
): IdentityProviders {
  const records = objects(IDENTITY_PROVIDERS);
  const byName = new Map<string, IdentityProviderState>();
  const listeners = new Set<() => void>();
  let isLost = false;
  const nameOf = (key: string): string => key.slice(records.prefix.length);

  const follower = followView(records, runtime.scheduler, {
    replace(objects) {
      isLost = false;
      byName.clear();
      for (const object of objects) put(object);
    },
    put,
    delete: ({ key }) => void byName.delete(nameOf(key)),
    settled() {
      for (const listener of [...listeners]) listener();
    },
    lost() {
      isLost = true;
    },
  });

  function put(object: Parameters<typeof readProvider>[0]): void {
    byName.delete(nameOf(object.key));
    try {
      byName.set(nameOf(object.key), readProvider(object));
    } catch (error) {
      onError(error, "identity-providers");
    }
  }

  return {
    get: (name) => (isLost ? undefined : byName.get(name)),
    all: () => [...byName.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    sources: () => [...byName.values()].map(({ source }) => source),
    keyRefusalOf(grant, { owner }) {
      // Not known to be invalid, so nothing is deleted.
      if (isLost) return { reason: "Unknown", message: "the identity providers are being loaded" };
      return refusalBy(byName.get(grant.rule.slice(PROVIDER_PREFIX.length)), grant, () => {
        const { subject = "" } = grant.login ?? {};
        const user = directory.userByIdentity(grant.rule.slice(PROVIDER_PREFIX.length), subject);
        return owner.kind === "user" && user?.name === owner.name;
      });
    },
    onChange(listener) {
      // Told apart from the same function given twice.
      const own = () => listener();
      listeners.add(own);
      return { [Symbol.dispose]: () => void listeners.delete(own) };
    },
    [Symbol.dispose]() {
      follower[Symbol.dispose]();
      listeners.clear();
    },
  };
}

function refusalBy(
  provider: IdentityProviderState | undefined,
  grant: KeyGrant,
  isStillTheirs: () => boolean,
): KeyRefusal | undefined {
  if (provider === undefined || provider.uid !== grant.ruleUid) return withdrawn("its identity provider is deleted");
  if (provider.isOff) return withdrawn("its identity provider is disabled");
  if (provider.identity !== grant.terms) return withdrawn("its identity provider was replaced");
  return isStillTheirs() ? undefined : withdrawn("the user does not use this identity any more");
}

/** The grants of trust rules, identity providers and access requests. */
export function unionGrants(rules: KeyGrants, providers: KeyGrants, requests: KeyGrants): KeyGrants {
  const sourceOf = (grant: KeyGrant): KeyGrants => {
    if (grant.login !== undefined) return providers;
    return isGrantOfRequest(grant) ? requests : rules;
  };
  return {
    keyRefusalOf: (grant, key) => sourceOf(grant).keyRefusalOf(grant, key),
    onChange(listener) {
      const following = [rules.onChange(listener), providers.onChange(listener), requests.onChange(listener)];
      return {
        [Symbol.dispose]() {
          for (const each of following) each[Symbol.dispose]();
        },
      };
    },
  };
}
