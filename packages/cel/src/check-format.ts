// Checks a literal format against the types of its arguments.
// Source: github.com/google/cel-go/ext/formatting.go (stringFormatChecker)

import { type CelExpression, CelSyntaxError } from "./cel-expression.ts";
import { type CelType, formatGoType } from "./cel-type.ts";
import { argumentFault, FormatError, type FormatVerb, formatPartsOf } from "./functions/format-clauses.ts";

type TypeOf = (part: CelExpression) => CelType;
type Call = Extract<CelExpression, { readonly type: "call" }>;

const NUMBERS = ["int", "uint"];
/** A double may be text as well: `NaN`, `Infinity`. */
const DOUBLES = ["double", "string"];
const TAKEN: { readonly [verb in FormatVerb]: readonly string[] } = {
  s: ["list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"],
  d: NUMBERS,
  f: DOUBLES,
  e: DOUBLES,
  b: [...NUMBERS, "bool"],
  x: [...NUMBERS, "string", "bytes"],
  X: [...NUMBERS, "string", "bytes"],
  o: NUMBERS,
};

/** The first fault of a call of `format` with a literal text and a literal list. */
export function formatFault({ target, args, at }: Call, typeOf: TypeOf): CelSyntaxError | undefined {
  const [list] = args;
  if (target?.type !== "literal" || typeof target.value !== "string" || list?.type !== "list") return undefined;
  let count = 0;
  try {
    for (const part of formatPartsOf(target.value, list.items.length)) {
      if (typeof part === "string") continue;
      count++;
      const bad = list.items[part.index] && unfit(list.items[part.index]?.value, part.verb, typeOf);
      if (bad !== undefined) return new CelSyntaxError(argumentFault(part.verb, runtimeName(typeOf(bad))), bad.at);
    }
  } catch (error) {
    if (error instanceof FormatError) return new CelSyntaxError(error.message, at);
    throw error;
  }
  if (list.items.length <= count) return undefined;
  const why = `too many arguments supplied to string.format (expected ${count}, got ${list.items.length})`;
  return new CelSyntaxError(why, at);
}

/** The part of an argument that the clause does not take. Texts are made of lists and maps with all their parts. */
function unfit(part: CelExpression | undefined, verb: FormatVerb, typeOf: TypeOf): CelExpression | undefined {
  if (part === undefined) return undefined;
  const type = typeOf(part);
  const isOpen = type.kind === "dyn" && type.isAny !== true;
  if (!isOpen && !TAKEN[verb].includes(type.kind)) return part;
  if (verb !== "s") return undefined;
  const inner =
    part.type === "list"
      ? part.items.map(({ value }) => value)
      : part.type === "map"
        ? part.entries.flatMap(({ key, value }) => [key, value])
        : [];
  for (const each of inner) {
    const bad = unfit(each, verb, typeOf);
    if (bad !== undefined) return bad;
  }
  return undefined;
}

/** The name of a type without its parameters. */
const runtimeName = (type: CelType): string => formatGoType(type).replace(/\(.*$/s, "");
