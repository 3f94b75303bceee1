// POST /oauth/token.

import type { Foundation } from "../../../foundation/foundation.ts";
import { allowExchange, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../../foundation/http/feature-route.ts";
import {
  MAX_TOKEN_FORM_BYTES,
  TOKEN_ENDPOINT_PATH,
  type TokenGrants,
} from "../../../foundation/issuers/token-endpoint.ts";
import { markTokenUsed } from "../../../foundation/issuers/used-tokens.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import type { Trust } from "../feature.ts";
import { createTokenExchange } from "../token-exchange.ts";
import { issueByRule } from "./issue-by-rule.ts";
import { createTokenExchangeRoute } from "./token-exchange-route.ts";

export type ExchangeNeeds = {
  readonly trust: Trust;
  readonly keys: AccessKeys;
  readonly mint: KeyMint;
  /** Grants of other features at the same endpoint. */
  readonly grants: TokenGrants;
};

export function exchangeRoute(base: Foundation, { trust, keys, mint, grants }: ExchangeNeeds): FeatureRoute {
  const exchange = createTokenExchange({
    rules: trust.rules,
    verifier: trust.verifier,
    take: (rule, id, expiresAt) => markTokenUsed(trust.issuers.takenTokens, rule, id, expiresAt),
    issue: issueByRule(base, mint),
    clock: base.runtime.clock,
    rateLimiter: base.rateLimiter,
  });
  return {
    takes: (path) => path === TOKEN_ENDPOINT_PATH,
    handle: createTokenExchangeRoute(base, exchange, keys, grants),
    // The credential is in the body.
    authenticator: anonymousCallers,
    authorizer: allowExchange,
    // The exchange answers in the words of OAuth when it is asked too much.
    rateLimits: {},
    bodyBytes: MAX_TOKEN_FORM_BYTES,
  };
}
