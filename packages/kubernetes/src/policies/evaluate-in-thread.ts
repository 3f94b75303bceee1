// Evaluates an expression in a worker thread, from the texts that the thread receives.

import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { ExpressionResult, ExpressionWork } from "@postern/apiserver/limits/work-threads";
import { CelLimitError, createCelMeter } from "@postern/cel/cel-budget";
import { CelEvaluationError, CelList, CelMessage, type CelValue } from "@postern/cel/cel-value";
import { evaluateCel } from "@postern/cel/evaluate-cel";
import { type AskAccess, CelAuthorizer } from "@postern/cel/functions/authorizer-functions";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import { dynamicValue } from "./dynamic-value.ts";
import { variablesOf } from "./evaluate-expression.ts";
import { jsonOfValue } from "./value-json.ts";

class AnswerMissing {
  readonly question: string;

  constructor(question: string) {
    this.question = question;
  }
}

/** The texts have been compiled before. */
export function evaluateInThread(work: ExpressionWork): ExpressionResult {
  const meter = createCelMeter(work.most);
  try {
    const value = evaluateCel(parseCel(work.text, CEL_NAMES), { names: namesOf(work, meter), meter });
    const isPlain = value === null || typeof value === "string" || typeof value === "boolean";
    if (value instanceof CelList || value instanceof CelMessage)
      return { type: "json", json: stringifyJson(jsonOfValue(value, meter.spend)), spent: meter.spent };
    return isPlain ? { type: "value", value, spent: meter.spent } : { type: "other", spent: meter.spent };
  } catch (error) {
    const { spent } = meter;
    if (error instanceof AnswerMissing) return { type: "question", question: error.question, spent };
    if (error instanceof CelLimitError) return { type: "limit", message: error.message, spent };
    if (error instanceof CelEvaluationError) return { type: "fault", message: error.message, spent };
    throw error;
  }
}

function namesOf(
  { values, variables, resource, answers }: ExpressionWork,
  meter: ReturnType<typeof createCelMeter>,
): { readonly [name: string]: CelValue } {
  // They were written by the same function for the same question.
  const known = new Map(answers.map(([question, answer]) => [question, JSON.parse(answer) as ReturnType<AskAccess>]));
  const ask: AskAccess = (question) => {
    const id = JSON.stringify(question);
    const answer = known.get(id);
    if (answer === undefined) throw new AnswerMissing(id);
    return answer;
  };
  const names: { [name: string]: CelValue } = { authorizer: new CelAuthorizer(ask, resource) };
  for (const [name, text] of Object.entries(values)) names[name] = dynamicValue(parseJson(text));
  if (variables !== undefined) {
    const parsed = variables.map(({ name, text }) => ({
      name,
      // Most of them are not asked for.
      get expression() {
        return parseCel(text, CEL_NAMES);
      },
    }));
    names["variables"] = variablesOf(parsed, names, meter);
  }
  return names;
}
