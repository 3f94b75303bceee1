// Exchanges a token of an external issuer for an access key, if a trust rule accepts it.
// Source: RFC 8693 (OAuth 2.0 Token Exchange), RFC 6749 section 5.2

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { RateLimit, RateLimiter } from "@postern/apiserver/limits/rate-limiter";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import { createClaimBudget } from "../../foundation/issuers/claim-conditions.ts";
import { decodeToken, TokenError, type UnverifiedToken } from "../../foundation/issuers/signed-token.ts";
import type { Confirm } from "../access-keys/proofs/key-request-proof.ts";
import type { Confirmation } from "../access-keys/proofs/proof-of-possession.ts";
import type { SharedChecks, TokenCheck, TokenVerifier } from "./token-verifier.ts";
import type { TrustRules } from "./trust-rule-index.ts";
import type { TrustRuleState } from "./trust-rule-state.ts";

/** Which rules are asked: one, those of a project, or the cluster-scoped ones. */
export type ExchangeTarget =
  | { readonly kind: "rule"; readonly id: string }
  | { readonly kind: "project"; readonly project: string }
  | { readonly kind: "cluster" };

export type IssuedKey = {
  readonly value: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
};

export type Exchanged = IssuedKey & { readonly rule: TrustRuleState; readonly token: UnverifiedToken };

type ErrorCode =
  | "invalid_dpop_proof"
  | "invalid_request"
  | "invalid_scope"
  | "invalid_target"
  | "temporarily_unavailable"
  | "unsupported_grant_type";

/** Unauthenticated clients see the description, so it says nothing about the conditions of a rule. `detail`, which only the audit log has, is precise. */
export class ExchangeRefusal extends Error {
  override readonly name = "ExchangeRefusal";
  readonly code: ErrorCode;
  readonly status: number;
  /** For the audit log. */
  readonly detail: string;
  readonly retryAfterSeconds: number | undefined;
  readonly token: UnverifiedToken | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    more: Partial<Pick<ExchangeRefusal, "status" | "detail" | "retryAfterSeconds" | "token">> = {},
  ) {
    super(message);
    this.code = code;
    this.status = more.status ?? 400;
    this.detail = more.detail ?? message;
    this.retryAfterSeconds = more.retryAfterSeconds;
    this.token = more.token;
  }
}

export type TokenExchange = (request: {
  readonly token: string;
  readonly target: ExchangeTarget;
  readonly address: string;
  /** The bond of the key; asked for a token that a rule accepts, before it is taken. Absent: to nothing. */
  readonly confirm?: Confirm | undefined;
  readonly outside: SharedChecks["outside"];
}) => Promise<Exchanged>;

/** From one address, which the runners of a whole company may share. */
const PER_ADDRESS = { qps: 20, burst: 1_000 };
/** Refused tokens of one issuer from one address: the tokens of others are not held back for them. */
const FAILURES = { qps: 0.5, burst: 30 };
const MAX_HELD_BACK = 10_000;
/** Rules that an answer names. */
const MAX_NAMED = 5;

/** Rejects with ExchangeRefusal. */
export function createTokenExchange(deps: {
  readonly rules: Pick<TrustRules, "get" | "ofIssuer">;
  readonly verifier: Pick<TokenVerifier, "firstFailedCheck">;
  /** Resolves with false where the token was taken before. */
  readonly take: (rule: TrustRuleState, tokenId: string, expiresAt: number) => Promise<boolean>;
  /** `confirmation` is "" for a bearer key. */
  readonly issue: (rule: TrustRuleState, token: UnverifiedToken, confirmation: Confirmation) => Promise<IssuedKey>;
  readonly clock: Clock;
  readonly rateLimiter: (limit: RateLimit) => RateLimiter;
}): TokenExchange {
  const { rules, verifier, take, issue, clock, rateLimiter } = deps;
  const perAddress = rateLimiter(PER_ADDRESS);
  const failures = rateLimiter(FAILURES);
  /** Until when, by the clock that only goes forward. */
  const heldBack = new Map<string, number>();

  const tooMany = (seconds: number): ExchangeRefusal =>
    new ExchangeRefusal("temporarily_unavailable", "too many requests, please try again later", {
      status: 429,
      retryAfterSeconds: seconds,
    });
  const holdBack = (subject: string): void => {
    const delay = failures.delayOf(subject);
    if (delay === undefined) return;
    if (heldBack.size >= MAX_HELD_BACK) heldBack.clear();
    heldBack.set(subject, clock.elapsed() + delay * 1000);
  };

  const candidatesOf = ({ issuer }: UnverifiedToken, target: ExchangeTarget): readonly TrustRuleState[] => {
    if (target.kind !== "rule") {
      const project = target.kind === "project" ? target.project : undefined;
      return rules.ofIssuer(issuer).filter((rule) => rule.project === project);
    }
    const rule = rules.get(target.id);
    return rule === undefined || rule.source.issuer !== issuer ? [] : [rule];
  };

  async function matching(
    token: UnverifiedToken,
    candidates: readonly TrustRuleState[],
    outside: SharedChecks["outside"],
  ) {
    const shared = { signatures: new Map(), budget: createClaimBudget(), pause: createTurns(clock), outside };
    const taken: TrustRuleState[] = [];
    const refused: { readonly rule: TrustRuleState; readonly check: TokenCheck }[] = [];
    for (const rule of candidates) {
      const check = await verifier.firstFailedCheck(token, rule, shared);
      if (check === undefined) taken.push(rule);
      else refused.push({ rule, check });
    }
    return { taken, refused };
  }

  return async ({ token: text, target, address, confirm, outside }) => {
    const delay = perAddress.delayOf(address);
    if (delay !== undefined) throw tooMany(delay);
    const token = decoded(text);
    const candidates = candidatesOf(token, target);
    // For an untrusted issuer nothing is verified or fetched.
    if (candidates.length === 0) throw noRule(token, target);
    const subject = `${address} ${token.issuer}`;
    const until = heldBack.get(subject) ?? 0;
    if (until > clock.elapsed()) throw tooMany(Math.ceil((until - clock.elapsed()) / 1000));

    const { taken, refused } = await matching(token, candidates, outside);
    const [rule, ...others] = taken;
    if (rule === undefined) {
      const unknown = refused.find(({ check }) => check.type === "Keys");
      if (unknown === undefined) holdBack(subject);
      throw refusalFor(token, refused, unknown?.check);
    }
    if (others.length > 0) throw ambiguous(token, taken);
    const confirmation = (await confirm?.(rule.owner)) ?? "";
    if (rule.singleUse) {
      // The verifier has checked that it exists.
      const id = String(token.claims["jti"]);
      const isFirst = await take(rule, id, token.expiresAt).catch((error: unknown) => {
        throw refusedNow(error, token);
      });
      if (!isFirst) throw new ExchangeRefusal("invalid_request", "the token was used before", { token });
    }
    try {
      return { ...(await issue(rule, token, confirmation)), rule, token };
    } catch (error) {
      throw refusedNow(error, token);
    }
  };
}

/** The reason to refuse a good token now, such as a quota. */
function refusedNow(error: unknown, token: UnverifiedToken): unknown {
  if (!isApiError(error) || error.code >= 500) return error;
  const why = "the trust rule cannot issue a key now";
  return new ExchangeRefusal("invalid_target", why, { token, detail: error.message });
}

function decoded(text: string): UnverifiedToken {
  try {
    return decodeToken(text);
  } catch (error) {
    if (error instanceof TokenError) throw new ExchangeRefusal("invalid_request", error.message);
    throw error;
  }
}

function noRule(token: UnverifiedToken, { kind }: ExchangeTarget): ExchangeRefusal {
  if (kind === "cluster") {
    const why =
      "no cluster trust rule has the issuer of the token; for rules of a project, set audience to <project>/<rule>";
    return new ExchangeRefusal("invalid_request", why, { token });
  }
  return noSuchRule(token);
}

export const noSuchRule = (token?: UnverifiedToken): ExchangeRefusal =>
  new ExchangeRefusal("invalid_target", "there is no such trust rule, or it is for another issuer", { token });

/** Checks of the token alone may be shown to its holder; checks of a rule's claims may not. */
const ABOUT_THE_TOKEN: ReadonlySet<TokenCheck["type"]> = new Set(["Audience", "Time", "Signature", "TokenID"]);

function refusalFor(
  token: UnverifiedToken,
  refused: readonly { readonly rule: TrustRuleState; readonly check: TokenCheck }[],
  unknown: TokenCheck | undefined,
): ExchangeRefusal {
  const detail = refused
    .slice(0, MAX_NAMED)
    .map(({ rule, check }) => `${rule.title}: ${check.message}`)
    .join("; ");
  if (unknown !== undefined) {
    return new ExchangeRefusal("temporarily_unavailable", "the keys of the issuer are not known yet, try again", {
      status: 503,
      retryAfterSeconds: 5,
      token,
      detail,
    });
  }
  const messages = new Set(refused.map(({ check }) => (ABOUT_THE_TOKEN.has(check.type) ? check.message : "")));
  const [only = ""] = messages;
  const message =
    messages.size === 1 && only !== "" ? only : "no trust rule accepts the token: test the rule to see why";
  return new ExchangeRefusal("invalid_request", message, { token, detail });
}

function ambiguous(token: UnverifiedToken, taken: readonly TrustRuleState[]): ExchangeRefusal {
  const named = taken
    .slice(0, MAX_NAMED)
    .map(({ title }) => title)
    .join(", ");
  const message = `several trust rules accept the token: set audience to one of ${named}`;
  return new ExchangeRefusal("invalid_target", message, { token });
}
