// Faults of literals: items of several types, texts that no function can read, and formats that do not go with their arguments.
// Source: github.com/google/cel-go/cel/validator.go

import { findPatternError } from "@postern/apimachinery/schema/pattern/pattern";
import { isSameType } from "./cel-bindings.ts";
import { type CelExpression, CelSyntaxError, childrenOf } from "./cel-expression.ts";
import { type CelType, formatCelType } from "./cel-type.ts";
import { CelEvaluationError, type CelValue } from "./cel-value.ts";
import { formatFault } from "./check-format.ts";
import { callCelFunction } from "./functions/cel-library.ts";

type TypeOf = (part: CelExpression) => CelType;
type OfType<T extends CelExpression["type"]> = Extract<CelExpression, { readonly type: T }>;

/** In any order. The expression type checks. */
export function checkLiterals(expression: CelExpression, typeOf: TypeOf): readonly CelSyntaxError[] {
  const faults: CelSyntaxError[] = [];
  /** `isFormatted`: a part of what is formatted, whose lists may have items of several types. */
  function visit(part: CelExpression, isFormatted: boolean): void {
    if (!isFormatted) faults.push(...mixedTypes(part, typeOf));
    if (part.type === "call") faults.push(...callFaults(part, typeOf));
    const isFormat = part.type === "call" && part.name === "format";
    for (const child of childrenOf(part)) visit(child, isFormatted || isFormat);
  }
  visit(expression, false);
  return faults;
}

function mixedTypes(expression: CelExpression, typeOf: TypeOf): readonly CelSyntaxError[] {
  const typeOfItem = ({ value, isOptional }: OfType<"list">["items"][number]): CelType => {
    const type = typeOf(value);
    return isOptional && type.kind === "optional" ? type.of : type;
  };
  if (expression.type === "list") {
    return others(expression.items.map((item) => [item.value, typeOfItem(item)])).slice(0, 1);
  }
  if (expression.type !== "map") return [];
  const { entries } = expression;
  return [
    ...others(entries.map(({ key }) => [key, typeOf(key)])),
    ...others(entries.map((entry) => [entry.value, typeOfItem(entry)])),
  ];
}

/** A fault for each that has another type than the first. */
function others(parts: readonly (readonly [part: CelExpression, type: CelType])[]): readonly CelSyntaxError[] {
  const [first] = parts;
  if (first === undefined) return [];
  return parts
    .filter(([, type]) => !isSameType(type, first[1]))
    .map(
      ([{ at }, type]) =>
        new CelSyntaxError(`expected type '${formatCelType(first[1])}' but found '${formatCelType(type)}'`, at),
    );
}

const READERS: { readonly [name: string]: (value: CelValue) => boolean } = {
  duration: (value) => canRead("duration", value),
  timestamp: (value) => canRead("timestamp", value),
  // Upstream takes the first argument of the function for the pattern, which is the text.
  matches: (value) => typeof value === "string" && findPatternError(value) === undefined,
};

function callFaults(call: OfType<"call">, typeOf: TypeOf): readonly CelSyntaxError[] {
  if (call.name === "format") return [formatFault(call, typeOf)].filter((fault) => fault !== undefined);
  const [literal] = call.args;
  const read = Object.hasOwn(READERS, call.name) ? READERS[call.name] : undefined;
  if (read === undefined || literal?.type !== "literal" || read(literal.value)) return [];
  return [new CelSyntaxError(`invalid ${call.name} argument`, literal.at)];
}

function canRead(name: string, value: CelValue): boolean {
  try {
    callCelFunction(name, false, [value]);
    return true;
  } catch (error) {
    if (error instanceof CelEvaluationError) return false;
    throw error;
  }
}
