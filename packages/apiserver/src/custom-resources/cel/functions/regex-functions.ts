// What of a text matches a pattern.
// Source: k8s.io/apiserver/pkg/cel/library/regex.go

import { compilePattern } from "@postern/apimachinery/schema/pattern/pattern";
import { PatternSyntaxError } from "@postern/apimachinery/schema/pattern/pattern-syntax";
import { type CelList, failCel, listOf } from "../cel-value.ts";
import { type CelOverload, celMethod } from "./overload.ts";

export const regexFunctions: readonly CelOverload[] = [
  celMethod("find", ["string", "string"], "string", (text, pattern) => findAll(text, pattern, 1)[0] ?? ""),
  celMethod("findAll", ["string", "string"], "list<string>", (text, pattern) => listOf(findAll(text, pattern, -1))),
  celMethod(
    "findAll",
    ["string", "string", "int"],
    "list<string>",
    (text, pattern, limit): CelList => listOf(findAll(text, pattern, Number(limit))),
  ),
];

/** A negative limit is none. */
function findAll(text: string, pattern: string, limit: number): readonly string[] {
  try {
    return compilePattern(pattern)
      .findAll(text, limit)
      .map(([begin, end]) => text.slice(begin, end));
  } catch (error) {
    if (error instanceof PatternSyntaxError) return failCel(`Illegal regex: ${error.message}`);
    throw error;
  }
}
