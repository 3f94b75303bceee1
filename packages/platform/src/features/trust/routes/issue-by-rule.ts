// Creates the access key that a trust rule grants for a token.

import { holdsCredential } from "@postern/apimachinery/text/redact-credentials";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { UnverifiedToken } from "../../../foundation/issuers/signed-token.ts";
import type { KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import { type Confirmation, confirmationSpec } from "../../access-keys/proofs/proof-of-possession.ts";
import type { IssuedKey } from "../token-exchange.ts";
import { shownClaims, type TrustRuleState } from "../trust-rule-state.ts";

const MAX_SUBJECT = 512;

/** Rejects with ApiError where the key may not be made, as when its owner has too many. */
export const issueByRule =
  ({ runtime: { clock }, signal }: Foundation, mint: KeyMint) =>
  async (rule: TrustRuleState, { claims, issuer }: UnverifiedToken, confirmation: Confirmation): Promise<IssuedKey> => {
    const { id, uid, terms, owner, name, origins, parents, grantedScope, grantedRules, sourceRanges, ttlSeconds } =
      rule;
    const until = clock.now() + ttlSeconds * 1000;
    const subject = claims["sub"];
    const { key, expiresAt = until } = await mint.mintGranted(
      {
        metadata: { generateName: `${name}-` },
        spec: {
          displayName: `Trust rule ${rule.title}`,
          [owner.kind]: owner.name,
          type: "Other",
          ttl: ttlSeconds,
          ...(grantedScope === undefined ? {} : { scope: grantedScope }),
          ...(grantedRules === undefined ? {} : { rules: grantedRules }),
          ...(confirmation === "" ? {} : { confirmation: confirmationSpec(confirmation) }),
          ...(sourceRanges.length === 0 ? {} : { allowedSourceRanges: [...sourceRanges] }),
        },
      },
      {
        grant: { rule: id, ruleUid: uid, terms, until },
        origins,
        parents,
        issuedBy: {
          rule: id,
          issuer,
          ...(typeof subject === "string" && subject.length <= MAX_SUBJECT && !holdsCredential(subject)
            ? { subject }
            : {}),
          claims: shownClaims(claims),
        },
      },
      signal,
    );
    return { value: key, expiresAt: Math.min(expiresAt, until) };
  };
