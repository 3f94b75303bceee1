// Expressions over declared variables, parsed and checked in one step.

import { type CelExpression, CelSyntaxError, textOfSyntaxError } from "./cel-expression.ts";
import type { CelType } from "./cel-type.ts";
import { checkCel } from "./check-cel.ts";
import { CEL_NAMES } from "./functions/cel-library.ts";
import { parseCel } from "./parse-cel.ts";

type Variables = { readonly [name: string]: CelType };

/** Throws CelSyntaxError if the text is not an expression over the variables. Its value may be of any type. */
export const compileChecked = (source: string, variables: Variables): CelExpression =>
  checked(source, variables).expression;

/** The same for a condition: throws CelSyntaxError also for one that is not boolean. */
export function compileBoolean(source: string, variables: Variables): CelExpression {
  const { expression, type } = checked(source, variables);
  if (type.kind !== "bool" && type.kind !== "dyn") throw new CelSyntaxError("must evaluate to bool", 0);
  return expression;
}

function checked(source: string, variables: Variables): { readonly expression: CelExpression; readonly type: CelType } {
  const expression = parseCel(source, CEL_NAMES);
  const { type, faults } = checkCel(expression, variables);
  const [fault] = faults;
  if (fault !== undefined) throw fault;
  return { expression, type };
}

/** Why `compile` refuses the text; undefined where it does not. */
export function compileError(source: string, compile: (source: string) => CelExpression): string | undefined {
  try {
    compile(source);
    return undefined;
  } catch (error) {
    if (error instanceof CelSyntaxError) return textOfSyntaxError(error, source);
    throw error;
  }
}
