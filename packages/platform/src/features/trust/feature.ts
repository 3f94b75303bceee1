// Tokens of external issuers: the rules, the keys of the issuers, and the tokens that were used.

import type { Foundation } from "../../foundation/foundation.ts";
import { followAccounts } from "../../foundation/store/record-accounts.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import { isVoid, type KeyOrigin } from "../access-keys/key-origins.ts";
import type { Directory } from "../directory/directory.ts";
import { fetchIssuerKeys } from "./fetch-issuer-keys.ts";
import { createIssuerKeys, type IssuerKeys } from "./issuer-keys.ts";
import { createTokenVerifier, type TokenVerifier } from "./token-verifier.ts";
import type { TrustRules } from "./trust-rule-index.ts";
import type { IssuerSource } from "./trust-rule-state.ts";
import { accountOfTakenToken, type TakenTokens } from "./used-tokens.ts";

/** Others that sign tokens for this server. */
type Issuers = { all(): readonly { readonly source: IssuerSource }[]; onChange(listener: () => void): Disposable };

export type Trust = Disposable & {
  readonly rules: TrustRules;
  readonly issuerKeys: IssuerKeys;
  readonly verifier: TokenVerifier;
  readonly takenTokens: TakenTokens;
};

export type TrustNeeds = {
  readonly rules: TrustRules;
  /** The issuers of sign-ins, whose keys are fetched as those of rules. */
  readonly providers: Issuers;
  readonly keys: AccessKeys;
  readonly directory: Directory;
};

export function openTrust(base: Foundation, { rules, providers, keys, directory }: TrustNeeds): Trust {
  const { configuration, names, storage, runtime } = base;
  const { clock, scheduler } = runtime;
  const issuerKeys = createIssuerKeys(fetchIssuerKeys(configuration, names, scheduler), runtime);
  const useIssuers = (): void => issuerKeys.use([...rules.all(), ...providers.all()].map(({ source }) => source));
  useIssuers();
  const followed = [rules.onChange(useIssuers), providers.onChange(useIssuers)];
  const taken = base.records("taken-tokens");
  const accounts = followAccounts(taken, scheduler, accountOfTakenToken);
  return {
    rules,
    issuerKeys,
    verifier: createTokenVerifier({
      issuerKeys,
      directory,
      writerError: ({ origins, parents }) => writerError(origins, parents, keys.index),
      clock,
    }),
    takenTokens: { ...taken, storage, accounts },
    [Symbol.dispose]() {
      for (const part of [accounts, ...followed, issuerKeys]) part[Symbol.dispose]();
    },
  };
}

/** A rule goes back to the keys that it was written with, as a key does. */
function writerError(
  origins: readonly KeyOrigin[],
  parents: readonly string[],
  keys: Pick<AccessKeys["index"], "byName" | "byUid" | "refusalOf">,
): string | undefined {
  if (isVoid(origins, (name) => keys.byName(name))) return "the access key that created the rule was compromised";
  for (const uid of parents) {
    const key = keys.byUid(uid);
    if (key === undefined) return "the access key that the rule was written with does not exist";
    const why = keys.refusalOf(key);
    if (why !== undefined) return `the access key that the rule was written with is refused: ${why}`;
  }
  return undefined;
}
