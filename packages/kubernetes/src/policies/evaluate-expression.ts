// Evaluates expressions of policies and webhooks for one request: on the main thread within a small budget, and in a worker thread beyond it.

import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { LONG_WORK_BYTES } from "@postern/apiserver/limits/long-work";
import type { ExpressionResult } from "@postern/apiserver/limits/work-threads";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { CelLimitError, type CelMeter, createCelMeter } from "@postern/cel/cel-budget";
import type { CelScope } from "@postern/cel/cel-evaluation";
import { type CelExpression, depthOf } from "@postern/cel/cel-expression";
import { CelEvaluationError, type CelValue, listOf } from "@postern/cel/cel-value";
import { evaluateCel } from "@postern/cel/evaluate-cel";
import { MAX_TREE_DEPTH, TOO_DEEP } from "@postern/cel/parse-cel";
import { jsonOf } from "@postern/structured-merge/managedfields/object-managed-fields";
import { dynamicValue, LazyMap } from "./dynamic-value.ts";
import { type AccessAnswers, dynamicObject, requestOf, scopeOfRequest } from "./expression-scope.ts";

/** An expression, and the text that it was parsed from. */
export type SourcedExpression = { readonly text: string; readonly expression: CelExpression };
export type NamedExpression = SourcedExpression & { readonly name: string };

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
export type Evaluate = (expression: SourcedExpression) => Promise<CelValue>;

/**
 * Limit for all expressions of all policies for one request, about a tenth of a second: they belong to one tenant, and all tenants share the threads.
 */
export const COST_PER_REQUEST = 100_000;
/** Some milliseconds: other requests get a turn before the next expression, and more expensive ones are evaluated in a thread. */
const COST_AT_ONCE = 5_000;
/** In a thread, an expression is evaluated again after each question to the authorizer. */
const MAX_QUESTIONS_ASIDE = 20;

export function createEvaluate(names: ExpressionNames, { answers, left }: RequestEvaluation): Evaluate {
  const { context } = names.attributes;
  let meter: CelMeter = createCelMeter(0);
  const scope = scopeOf(names, answers, { spend: (cost) => meter.spend(cost) });
  const values = once(() => valuesOf(names));
  let spent = 0;

  function pay(cost: number): void {
    left.cost -= cost;
    spent += cost;
  }

  /** Undefined where it costs more than may be spent at once. */
  async function here(expression: CelExpression): Promise<CelValue | undefined> {
    const most = Math.min(left.cost, COST_AT_ONCE);
    try {
      const value = await answers.evaluate(() => {
        meter = createCelMeter(most);
        return evaluateCel(expression, { names: scope, meter });
      });
      pay(meter.spent);
      return value;
    } catch (error) {
      spent += meter.spent;
      // It starts again, and pays for that.
      if (error instanceof CelLimitError && left.cost > most) return undefined;
      left.cost -= meter.spent;
      throw error;
    }
  }

  async function evaluateInThread(text: string): Promise<CelValue | undefined> {
    for (let questions = 0; questions <= MAX_QUESTIONS_ASIDE; questions++) {
      const result = context.runInThread("evaluateExpression", () => ({
        text,
        values: values(),
        variables: names.variables?.map(({ name, text: variable }) => ({ name, text: variable })),
        resource: requestedBy(names.attributes),
        answers: answers.known(),
        most: left.cost,
      }));
      if (result === undefined) return undefined;
      const found = await result;
      if (found.type === "question") await answers.answer(found.question);
      else {
        pay(found.spent);
        return resultOf(found);
      }
    }
    throw new CelLimitError("operation cancelled: actual cost limit exceeded");
  }

  return async ({ text, expression }) => {
    if (spent > COST_AT_ONCE) context.weigh(LONG_WORK_BYTES);
    await context.pause();
    const found = (await here(expression)) ?? (await evaluateInThread(text));
    if (found !== undefined) return found;
    // There are no threads.
    return await answers.evaluate(() => {
      meter = createCelMeter(left.cost);
      return evaluateCel(expression, { names: scope, meter });
    });
  };
}

function resultOf(result: Exclude<ExpressionResult, { readonly type: "question" }>): CelValue {
  switch (result.type) {
    case "value":
      return result.value;
    case "json":
      return dynamicValue(parseJson(result.json));
    case "other":
      return listOf([]);
    case "fault":
      throw new CelEvaluationError(result.message);
    case "limit":
      throw new CelLimitError(result.message);
  }
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

/** Those that a thread is given. */
function valuesOf({ attributes, seenAs, params, space, variables }: ExpressionNames): { [name: string]: string } {
  const text = (object: KubeObject | undefined): string =>
    object === undefined ? "null" : stringifyJson(jsonOf(object));
  return {
    object: text(attributes.object),
    oldObject: text(attributes.oldObject),
    request: stringifyJson(requestOf(attributes, seenAs)),
    ...(variables === undefined ? {} : { params: text(params), namespaceObject: text(space) }),
  };
}

const requestedBy = ({ resource, subresource, namespace, name }: AdmissionAttributes) => ({
  group: resource.group,
  resource: resource.plural,
  subresource,
  namespace,
  name,
});

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
