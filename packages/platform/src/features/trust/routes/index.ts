// POST /oauth/token.

import type { Foundation } from "../../../foundation/foundation.ts";
import { allowExchange, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../../foundation/http/feature-route.ts";
import { markTokenUsed } from "../../../foundation/issuers/used-tokens.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import type { Trust } from "../feature.ts";
import { createTokenExchange, MAX_EXCHANGE_BYTES } from "../token-exchange.ts";
import { issueByRule } from "./issue-by-rule.ts";
import { createTokenExchangeRoute, type Redeem } from "./token-exchange-route.ts";

export type ExchangeNeeds = {
  readonly trust: Trust;
  readonly keys: AccessKeys;
  readonly mint: KeyMint;
  readonly redeem: Redeem;
};

export function exchangeRoute(base: Foundation, { trust, keys, mint, redeem }: ExchangeNeeds): FeatureRoute {
  const exchange = createTokenExchange({
    rules: trust.rules,
    verifier: trust.verifier,
    take: (rule, id, expiresAt) => markTokenUsed(trust.issuers.takenTokens, rule, id, expiresAt),
    issue: issueByRule(base, mint),
    clock: base.runtime.clock,
    rateLimiter: base.rateLimiter,
  });
  return {
    handle: createTokenExchangeRoute(base, exchange, keys.secrets.format, redeem),
    // The credential is in the body.
    authenticator: anonymousCallers,
    authorizer: allowExchange,
    // The exchange answers in the words of OAuth when it is asked too much.
    rateLimits: {},
    bodyBytes: MAX_EXCHANGE_BYTES,
  };
}
