// CEL expressions of access policies, over the user, the request and the time, with a bounded cost.

import type { AccessRequestSpec } from "@postern/api/access-request";
import { CelLimitError, createCelMeter } from "@postern/cel/cel-budget";
import type { CelExpression } from "@postern/cel/cel-expression";
import type { CelType } from "@postern/cel/cel-type";
import { CelEvaluationError, CelTimestamp } from "@postern/cel/cel-value";
import { compileBoolean, compileError } from "@postern/cel/compile-checked";
import { evaluateCel } from "@postern/cel/evaluate-cel";
import { claimValue } from "../../foundation/issuers/claim-conditions.ts";
import { EXPRESSION_COST } from "./access-limits.ts";
import type { Person } from "./person.ts";

/** `requester`: over user alone; `approval`: over user, request and now. */
export type ExpressionUse = "requester" | "approval";

const MEMBERS: CelType = { kind: "map", key: { kind: "string" }, value: { kind: "dyn" } };
const VARIABLES: { readonly [use in ExpressionUse]: { readonly [name: string]: CelType } } = {
  requester: { user: MEMBERS },
  approval: { user: MEMBERS, request: MEMBERS, now: { kind: "timestamp" } },
};

/** Throws CelSyntaxError if the text is not an expression, or not a boolean one. */
export const compilePolicyExpression = (source: string, use: ExpressionUse): CelExpression =>
  compileBoolean(source, VARIABLES[use]);

/** Why a text cannot be such an expression; undefined for one that can. */
export const policyExpressionError = (source: string, use: ExpressionUse): string | undefined =>
  compileError(source, (text) => compilePolicyExpression(text, use));

export type ExpressionFacts = {
  readonly person: Person;
  readonly request?: AccessRequestSpec & { readonly durationSeconds: number };
  /** Milliseconds since the epoch. */
  readonly now?: number;
};

/** Anything but true is a no, an error and a cost that is too high included. */
export function policyExpressionHolds(
  expression: CelExpression,
  { person, request, now = 0 }: ExpressionFacts,
): boolean {
  const { name, username, email, displayName, groups, isBot } = person.user;
  const user = claimValue({ name, username, email, displayName, groups, teams: person.teams, isBot });
  const { target = {}, role = "", durationSeconds = 0, reason = "" } = request ?? {};
  const { project = "", virtualCluster = "", cluster = "" } = target;
  const asked = claimValue({ role, project, virtualCluster, cluster, durationSeconds, reason });
  const names = { user, request: asked, now: new CelTimestamp(BigInt(now) * 1_000_000n, 0) };
  try {
    return evaluateCel(expression, { names, meter: createCelMeter(EXPRESSION_COST) }) === true;
  } catch (error) {
    if (error instanceof CelLimitError || error instanceof CelEvaluationError) return false;
    throw error;
  }
}
