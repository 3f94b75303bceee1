// Refuses regular expressions that take more than linear time: one request with a text made for such an expression stops the whole server.

import { parseSync } from "oxc-parser";
import type { Expression } from "./expressions/automaton.ts";
import { expressionsIn } from "./expressions/expressions-in.ts";
import { type Attack, findSuperlinear } from "./expressions/find-superlinear.ts";
import { readSource, reportGate, typeScriptFiles } from "./source-files.ts";

const isServed = (path: string): boolean =>
  /^packages\/[^/]+\/src\//.test(path) && !/\.test\.ts$|\/testing\//.test(path);

const faults: string[] = [];
const known = new Map<string, string | undefined>();
const files = typeScriptFiles().filter(isServed);
for (const path of files) {
  const source = readSource(path);
  for (const { line, expression } of expressionsIn(source, parseSync(path, source).program)) {
    const fault = expression === undefined ? "is made of more than constants of its file" : faultOf(expression);
    if (fault !== undefined) faults.push(`${path}:${line}: ${fault}`);
  }
}
reportGate("expressions", files.length, faults);

function faultOf(expression: Expression): string | undefined {
  const key = `/${expression.source}/${expression.flags}`;
  if (!known.has(key)) known.set(key, judge(expression, key));
  return known.get(key);
}

function judge(expression: Expression, key: string): string | undefined {
  try {
    const attack = findSuperlinear(expression);
    return attack === undefined ? undefined : `${key} takes ${attack.degree} time on ${textOf(attack)}`;
  } catch (error) {
    if (error instanceof RangeError) return `${key}: ${error.message}`;
    throw error;
  }
}

function textOf({ prefix, pump, suffix }: Attack): string {
  const parts = [JSON.stringify(prefix), `${JSON.stringify(pump)}.repeat(n)`, JSON.stringify(suffix)];
  return parts.filter((part) => part !== '""').join(" + ");
}
