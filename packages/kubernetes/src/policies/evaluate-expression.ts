// Evaluates expressions of policies and webhooks for one request, within its budget.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { LONG_WORK_BYTES } from "@postern/apiserver/limits/long-work";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { COST_OF_CHECK } from "@postern/cel/call-cost";
import { CelLimitError, type CelMeter, createCelMeter } from "@postern/cel/cel-budget";
import type { CelScope } from "@postern/cel/cel-evaluation";
import { type CelExpression, depthOf } from "@postern/cel/cel-expression";
import type { CelValue } from "@postern/cel/cel-value";
import { evaluateCel } from "@postern/cel/evaluate-cel";
import { MAX_TREE_DEPTH, TOO_DEEP } from "@postern/cel/parse-cel";
import { LazyMap } from "./dynamic-value.ts";
import { type AccessAnswers, dynamicObject, scopeOfRequest } from "./expression-scope.ts";

export type CompiledExpression = { readonly expression: CelExpression };
export type NamedExpression = CompiledExpression & { readonly name: string };

/** State that all expressions for one request share. */
export type RequestEvaluation = {
  readonly answers: AccessAnswers;
  /** Cost that they may have between them. */
  readonly left: { cost: number };
};

export type ExpressionNames = {
  readonly attributes: AdmissionAttributes;
  /** The version in which the object is shown, where that is not the one of the request. */
  readonly seenAs?: ResourceDefinition | undefined;
  readonly params?: KubeObject | undefined;
  readonly space?: KubeObject | undefined;
  /** Absent: the expressions are those of a webhook, which have fewer names. */
  readonly variables?: readonly NamedExpression[];
};

/** Rejects with CelEvaluationError, and with CelLimitError when it costs more than is left. */
export type Evaluate = (compiled: CompiledExpression) => Promise<CelValue>;

/** Limit for all expressions of all policies for one request: most spend it in 10 to 60 ms of processor time, and none in more than 0.2 s (ADR 377). */
export const COST_PER_REQUEST = 100_000;
/** Some milliseconds: after it, other requests get a turn before the next expression. */
const COST_AT_ONCE = 5_000;
/** An expression starts again after each answer of an authorizer that it has to wait for. It pays for each start, and for each question once. */
const MAX_STARTS = 21;

export function createEvaluate(names: ExpressionNames, { answers, left }: RequestEvaluation): Evaluate {
  const { context } = names.attributes;
  let meter: CelMeter = createCelMeter(0);
  const scope = scopeOf(names, answers, { spend: (cost) => meter.spend(cost) });
  let spent = 0;

  function pay(paidLater: number): void {
    const cost = Math.max(0, meter.spent - paidLater);
    left.cost -= cost;
    spent += cost;
    meter = createCelMeter(left.cost);
  }

  return async ({ expression }) => {
    if (spent > COST_AT_ONCE) context.weigh(LONG_WORK_BYTES);
    await context.pause();
    let starts = 0;
    try {
      return await answers.evaluate(() => {
        pay(starts * COST_OF_CHECK);
        if (++starts > MAX_STARTS) throw new CelLimitError("operation cancelled: actual cost limit exceeded");
        return evaluateCel(expression, { names: scope, meter });
      });
    } finally {
      pay(0);
    }
  };
}

function scopeOf(
  { attributes, seenAs, params, space, variables }: ExpressionNames,
  { ask }: AccessAnswers,
  meter: Pick<CelMeter, "spend">,
): CelScope {
  const outer = scopeOfRequest(attributes, ask, seenAs);
  if (variables === undefined) return outer;
  const names: { [name: string]: CelValue } = {
    ...outer,
    params: dynamicObject(params),
    namespaceObject: dynamicObject(space),
  };
  names["variables"] = variablesOf(variables, names, meter);
  return names;
}

/** Each is evaluated when it is first asked for. Those that ask for one another are in each other on the stack, and may be as deep as one expression. */
export function variablesOf(
  variables: readonly { readonly name: string; readonly expression: CelExpression }[],
  names: CelScope,
  meter: Pick<CelMeter, "spend">,
): LazyMap {
  let depth = 0;
  const evaluateVariable = (expression: CelExpression): CelValue => {
    const own = depthOf(expression);
    if (depth + own > MAX_TREE_DEPTH) throw new CelLimitError(TOO_DEEP);
    depth += own;
    try {
      return evaluateCel(expression, { names, meter: { spent: 0, ...meter } });
    } finally {
      depth -= own;
    }
  };
  return new LazyMap(new Map(variables.map((each) => [each.name, () => evaluateVariable(each.expression)])));
}
