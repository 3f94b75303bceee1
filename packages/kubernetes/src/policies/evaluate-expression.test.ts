// The budget of expressions that wait for answers of an authorizer.

import type { AuthorizationAttributes, Authorizer } from "@postern/apiserver/authorization/authorizer";
import { CelLimitError } from "@postern/cel/cel-budget";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import { expect, test } from "vitest";
import { COST_PER_REQUEST, createEvaluate } from "./evaluate-expression.ts";
import { createAccessAnswers } from "./expression-scope.ts";

/** Evaluates expressions of one request, whose authorizer takes its time or answers at once. */
function requestWith(takesTime: boolean) {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    authorize({ name }: AuthorizationAttributes) {
      asked.push(name);
      const decision = { verdict: "allow", reason: "" } as const;
      return takesTime ? Promise.resolve(decision) : decision;
    },
  };
  const context: any = { user: { name: "u", groups: [] }, request: { query: new URLSearchParams() }, weigh() {} };
  context.pause = async () => undefined;
  const resource = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps" };
  const attributes: any = { context, resource, subresource: "", namespace: "", name: "", operation: "create" };
  const left = { cost: COST_PER_REQUEST };
  const evaluate = createEvaluate(
    { attributes, variables: [] },
    { answers: createAccessAnswers(context, authorizer), left },
  );
  return { asked, left, evaluate: (text: string) => evaluate({ expression: parseCel(text, CEL_NAMES) }) };
}

const checks = (count: number): string =>
  Array.from(
    { length: count },
    (_, at) => `authorizer.group('').resource('pods').name('p${at}').check('get').allowed()`,
  ).join(" && ");
/** Costs about 30,000. */
const LONG = "lists.range(100).all(a, lists.range(100).all(b, a + b >= 0))";

test("twenty questions to an authorizer that takes its time cost as much as to one that answers at once", async () => {
  const [slow, fast] = [requestWith(true), requestWith(false)];
  for (const request of [slow, fast]) expect(await request.evaluate(checks(20))).toBe(true);
  expect(slow.asked).toHaveLength(20);
  const spent = ({ left }: { readonly left: { readonly cost: number } }) => COST_PER_REQUEST - left.cost;
  expect(spent(slow)).toBeLessThan(2 * spent(fast));
});

test("an expression pays for each start, so that a request has one budget", async () => {
  const fast = requestWith(false);
  expect(await fast.evaluate(`${LONG} && ${checks(5)}`)).toBe(true);
  const slow = requestWith(true);
  await expect(slow.evaluate(`${LONG} && ${checks(5)}`)).rejects.toThrow(CelLimitError);
  expect(slow.asked.length).toBeLessThan(5);
  await expect(slow.evaluate(LONG)).rejects.toThrow(CelLimitError);
});
