// Matches of a pattern in a text.
// Source: k8s.io/apiserver/pkg/cel/library/regex.go

import { compilePattern } from "@postern/apimachinery/schema/pattern/pattern";
import { PatternLimitError } from "@postern/apimachinery/schema/pattern/pattern-program";
import { PatternSyntaxError } from "@postern/apimachinery/schema/pattern/pattern-syntax";
import { CelLimitError } from "../cel-budget.ts";
import { type CelList, failCel, listOf } from "../cel-value.ts";
import { type CelOverload, costingMethod, inSteps, type SpendCost } from "./overload.ts";

export const regexFunctions: readonly CelOverload[] = [
  costingMethod(
    "find",
    ["string", "string"],
    "string",
    (spend, text, pattern) => findAll(spend, text, pattern, 1)[0] ?? "",
  ),
  costingMethod("findAll", ["string", "string"], "list<string>", (spend, text, pattern) =>
    listOf(findAll(spend, text, pattern, -1)),
  ),
  costingMethod(
    "findAll",
    ["string", "string", "int"],
    "list<string>",
    (spend, text, pattern, limit): CelList => listOf(findAll(spend, text, pattern, Number(limit))),
  ),
];

/** A negative limit means no limit. */
function findAll(spend: SpendCost, text: string, pattern: string, limit: number): readonly string[] {
  try {
    const found = compilePattern(pattern).findAll(text, limit, inSteps(spend));
    // They are the items of a list.
    spend(found.length);
    return found.map(([begin, end]) => text.slice(begin, end));
  } catch (error) {
    if (error instanceof PatternSyntaxError) return failCel(`Illegal regex: ${error.message}`);
    if (error instanceof PatternLimitError) throw new CelLimitError(error.message);
    throw error;
  }
}
