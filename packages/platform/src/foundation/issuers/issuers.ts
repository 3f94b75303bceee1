// Issuers of tokens that trust rules and identity providers name: their keys, and the tokens that were used once.

import type { Foundation } from "../foundation.ts";
import { followAccounts } from "../store/record-accounts.ts";
import { fetchIssuerKeys } from "./fetch-issuer-keys.ts";
import { createIssuerKeys, type IssuerKeys } from "./issuer-keys.ts";
import type { IssuerSource } from "./issuer-source.ts";
import { accountOfTakenToken, type TakenTokens } from "./used-tokens.ts";

export type Issuers = Disposable & { readonly keys: IssuerKeys; readonly takenTokens: TakenTokens };

/** Objects that name an issuer each. */
type NamedIssuers = {
  /** May repeat. */
  sources(): Iterable<IssuerSource>;
  onChange(listener: () => void): Disposable;
};

/** Fetches the keys of all issuers that are named now. */
export function openIssuers(base: Foundation, named: readonly NamedIssuers[]): Issuers {
  const { configuration, names, storage, runtime } = base;
  const { scheduler } = runtime;
  const keys = createIssuerKeys(fetchIssuerKeys(configuration, names, scheduler), runtime);
  const use = (): void => keys.use(named.flatMap((objects) => [...objects.sources()]));
  use();
  const following = named.map((objects) => objects.onChange(use));
  const taken = base.records("taken-tokens");
  const accounts = followAccounts(taken, scheduler, accountOfTakenToken);
  return {
    keys,
    takenTokens: { ...taken, storage, accounts },
    [Symbol.dispose]() {
      for (const part of [accounts, ...following, keys]) part[Symbol.dispose]();
    },
  };
}
