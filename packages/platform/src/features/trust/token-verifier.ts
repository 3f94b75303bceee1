// Whether a trust rule takes a token, check by check. The exchange and the tester ask the same question here.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { CelValue } from "@postern/cel/cel-value";
import {
  type ClaimBudget,
  claimAt,
  claimValue,
  createClaimBudget,
  evaluateCondition,
} from "../../foundation/issuers/claim-conditions.ts";
import type { IssuerKeys } from "../../foundation/issuers/issuer-keys.ts";
import type { KeySet } from "../../foundation/issuers/key-set.ts";
import { candidateKeys, isSignedBy, timeError, type UnverifiedToken } from "../../foundation/issuers/signed-token.ts";
import type { Directory } from "../directory/directory.ts";
import type { TrustRuleState } from "./trust-rule-state.ts";

export type CheckStatus = "True" | "False" | "Unknown";

/** `field` is the field of the rule that requires the check; "" for checks of every token. */
export type TokenCheck = {
  readonly type:
    | "Rule"
    | "Issuer"
    | "Audience"
    | "Time"
    | "Keys"
    | "Signature"
    | "Claim"
    | "Condition"
    | "TokenID"
    | "User";
  readonly field: string;
  readonly status: CheckStatus;
  readonly message: string;
};

/** Shared by the checks of one token against all rules. */
export type SharedChecks = {
  readonly signatures: Signatures;
  readonly budget: ClaimBudget;
  /** Called between checks, whose promises may all be settled already: other requests have their turn meanwhile. */
  readonly pause: () => Promise<void> | undefined;
  readonly outside: Outside;
};

type Outside = RequestContext["outside"];

/** Results for one token, by the source of the keys: a signature is verified once, however many rules there are. */
export type Signatures = Map<string, Promise<TokenCheck>>;

export type TokenVerifier = {
  /** Why a rule issues no keys now, whatever the token; undefined if it may. Signing keys of the issuer do not count. */
  faultOf(rule: TrustRuleState): string | undefined;
  /** In order, up to the first that does not hold: for the exchange, where the rest would cost time. */
  firstFailedCheck(token: UnverifiedToken, rule: TrustRuleState, shared: SharedChecks): Promise<TokenCheck | undefined>;
  /** All of them, for people. A check that depends on one that does not hold is unknown. */
  checksOf(token: UnverifiedToken, rule: TrustRuleState, outside: Outside): Promise<readonly TokenCheck[]>;
};

const MAX_TOKEN_ID = 512;
const MAX_REMEMBERED_MS = 24 * 60 * 60_000;

export function createTokenVerifier(deps: {
  readonly issuerKeys: Pick<IssuerKeys, "find">;
  readonly directory: Pick<Directory, "user">;
  /** Why a rule is refused because of the keys that it was written with; undefined if they are valid. */
  readonly writerError: (rule: TrustRuleState) => string | undefined;
  readonly clock: Clock;
}): TokenVerifier {
  const { issuerKeys, directory, writerError, clock } = deps;
  const check = (type: TokenCheck["type"], field: string, fault: string | undefined, good: string): TokenCheck => ({
    type,
    field,
    status: fault === undefined ? "True" : "False",
    message: fault ?? good,
  });

  const claimValues = new WeakMap<UnverifiedToken, CelValue>();

  function* cheapChecks(token: UnverifiedToken, rule: TrustRuleState): Generator<TokenCheck> {
    const { source, audiences } = rule;
    yield check("Rule", "", faultOfRule(rule), "the rule is active");
    yield check(
      "Issuer",
      "spec.issuer.url",
      token.issuer === source.issuer ? undefined : "the token is from another issuer (iss)",
      "the issuer matches the rule",
    );
    yield check(
      "Audience",
      "spec.audiences",
      token.audiences.some((each) => audiences.includes(each)) ? undefined : "the token is for another audience (aud)",
      "the audience matches the rule",
    );
    yield check("Time", "", timeError(token, clock.now()), "the token is valid now");
  }

  const faultOfRule = (rule: TrustRuleState): string | undefined =>
    rule.isOff ? "the rule is disabled" : writerError(rule);

  async function signature(token: UnverifiedToken, { source }: TrustRuleState, outside: Outside): Promise<TokenCheck> {
    const isMissing = (known: KeySet): boolean => candidateKeys(token, known).length === 0;
    const { keys, fault } = await issuerKeys.find(source, isMissing, outside);
    if (keys.length === 0)
      return check(
        "Keys",
        "spec.issuer",
        `the issuer's keys are not known: ${fault ?? "they were not fetched yet"}`,
        "",
      );
    const candidates = candidateKeys(token, keys);
    if (candidates.length === 0)
      return check("Signature", "spec.issuer", "no key of the issuer matches the kid and alg of the token", "");
    const isGood = await isSignedBy(token, candidates);
    return check(
      "Signature",
      "spec.issuer",
      isGood ? undefined : "the signature is wrong",
      "the issuer signed the token",
    );
  }

  /** Made once for all rules of an issuer: the claims of a token may be many. */
  const claimsOf = (token: UnverifiedToken): CelValue => {
    const known = claimValues.get(token) ?? claimValue(token.claims);
    claimValues.set(token, known);
    return known;
  };

  function* claimChecks(token: UnverifiedToken, rule: TrustRuleState, budget: ClaimBudget): Generator<TokenCheck> {
    for (const [at, { claim, values }] of rule.claims.entries()) {
      const value = claimAt(token.claims, claim);
      const holds = typeof value === "string" && values.includes(value);
      const fault = value === undefined ? "the token does not have the claim" : "the claim has another value";
      yield check("Claim", `spec.claims[${at}]`, holds ? undefined : `${fault}: ${claim}`, `the claim holds: ${claim}`);
    }
    const claims = rule.conditions.length === 0 ? null : claimsOf(token);
    for (const [at, { expression, source, message }] of rule.conditions.entries()) {
      const { holds, fault = "it is not true" } = evaluateCondition(expression, claims, budget);
      const what = message === "" ? source : message;
      yield check("Condition", `spec.conditions[${at}]`, holds ? undefined : `${fault}: ${what}`, `it holds: ${what}`);
    }
    const { singleUse, owner, userUid } = rule;
    if (singleUse) {
      yield check("TokenID", "spec.singleUse", faultOfTokenId(token, clock.now()), "the token has a jti");
    }
    const user = directory.user(owner.name);
    yield check("User", "spec.user", faultOfUser(user, userUid), "the user exists");
  }

  return {
    faultOf: (rule) => faultOfRule(rule) ?? faultOfUser(directory.user(rule.owner.name), rule.userUid),
    async firstFailedCheck(token, rule, { signatures, budget, pause, outside }) {
      await pause();
      for (const made of cheapChecks(token, rule)) if (made.status !== "True") return made;
      const known = signatures.get(rule.source.id) ?? signature(token, rule, outside);
      signatures.set(rule.source.id, known);
      const signed = await known;
      if (signed.status !== "True") return signed;
      for (const made of claimChecks(token, rule, budget)) {
        if (made.status !== "True") return made;
        const pausing = pause();
        if (pausing !== undefined) await pausing;
      }
      return undefined;
    },
    async checksOf(token, rule, outside) {
      const cheap = [...cheapChecks(token, rule)];
      const isOthers = cheap.some(({ type, status }) => type === "Issuer" && status !== "True");
      // The signature of another issuer's token cannot be verified.
      const signed: TokenCheck = isOthers
        ? { type: "Signature", field: "spec.issuer", status: "Unknown", message: "the token is from another issuer" }
        : await signature(token, rule, outside);
      const claims = [...claimChecks(token, rule, createClaimBudget())];
      return [...cheap, signed, ...claims];
    },
  };
}

/** The record of a used token lasts as long as the token. */
function faultOfTokenId({ claims, expiresAt }: UnverifiedToken, now: number): string | undefined {
  const id = claims["jti"];
  if (typeof id !== "string" || id === "" || id.length > MAX_TOKEN_ID) return "the token has no jti";
  return expiresAt - now > MAX_REMEMBERED_MS ? "the token is valid for too long: more than a day" : undefined;
}

function faultOfUser(user: ReturnType<Directory["user"]>, uid: string | undefined): string | undefined {
  if (user === undefined) return "the user does not exist";
  if (uid !== undefined && user.uid !== uid)
    return "the user was replaced since the rule was created: create the rule again";
  return user.locked ? "the user is locked" : undefined;
}
