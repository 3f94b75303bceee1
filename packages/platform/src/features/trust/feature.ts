// Tokens of external issuers: the rules, and the check of a token against one.

import type { Foundation } from "../../foundation/foundation.ts";
import type { Issuers } from "../../foundation/issuers/issuers.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import { isVoid, type KeyOrigin } from "../access-keys/key-origins.ts";
import type { Directory } from "../directory/directory.ts";
import { createTokenVerifier, type TokenVerifier } from "./token-verifier.ts";
import type { TrustRules } from "./trust-rule-index.ts";

export type Trust = { readonly rules: TrustRules; readonly issuers: Issuers; readonly verifier: TokenVerifier };

export type TrustNeeds = {
  readonly rules: TrustRules;
  readonly issuers: Issuers;
  readonly keys: AccessKeys;
  readonly directory: Directory;
};

export const createTrust = ({ runtime }: Foundation, { rules, issuers, keys, directory }: TrustNeeds): Trust => ({
  rules,
  issuers,
  verifier: createTokenVerifier({
    issuerKeys: issuers.keys,
    directory,
    writerError: ({ origins, parents }) => writerError(origins, parents, keys.index),
    clock: runtime.clock,
  }),
});

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
