// Tells the type of an expression, and what in it does not go together, before anything is evaluated.
// Source: github.com/google/cel-go/checker/checker.go

import {
  assign,
  type CelBindings,
  createCelBindings,
  DYN,
  freshVariable,
  instantiate,
  moreGeneral,
  resolve,
  settle,
  shorten,
  substitute,
} from "./cel-bindings.ts";
import { type CelExpression, type CelMacro, CelSyntaxError } from "./cel-expression.ts";
import { type CelType, EXTENSION_TYPES, formatCelType, readCelType, typeNamed } from "./cel-type.ts";
import { typeNameOf } from "./cel-value.ts";
import { checkLiterals } from "./check-literals.ts";
import { overloadsOf, TYPE_VALUES } from "./functions/cel-library.ts";
import { SORT_BY_KEYS } from "./functions/list-functions.ts";
import { BIND } from "./parse-cel.ts";
import { fieldNamed } from "./schema-type.ts";

export type CelVariables = { readonly [name: string]: CelType };
/** The type of a field of the message type with this name; undefined where there is no such type. */
export type CelMessages = (name: string) => ((field: string) => CelType | undefined) | undefined;

type Environment = {
  readonly variables: CelVariables;
  readonly messages: CelMessages;
  readonly bindings: CelBindings;
  readonly faults: CelSyntaxError[];
  readonly types: Map<CelExpression, CelType>;
};

export type CheckedCel = {
  readonly type: CelType;
  /** In the order of their places; the type means nothing where there are any. */
  readonly faults: readonly CelSyntaxError[];
  /** The types go together: at most literals have faults, with which the expression can still be evaluated. */
  readonly isTyped: boolean;
  /** Type of a part of the expression. */
  typeOf(part: CelExpression): CelType;
};

/** `messages`: the types of which the expression may make objects. Absent: none. */
export function checkCel(
  expression: CelExpression,
  variables: CelVariables,
  messages: CelMessages = () => undefined,
): CheckedCel {
  const bindings = createCelBindings();
  const scope: Environment = { variables, messages, bindings, faults: [], types: new Map() };
  const checked = check(expression, scope);
  shorten(bindings);
  const type = settle(checked, bindings);
  const typeOf = (part: CelExpression): CelType => settle(scope.types.get(part) ?? DYN, bindings);
  // Literals are checked only if everything else type checks.
  const isTyped = scope.faults.length === 0;
  const faults = isTyped ? checkLiterals(expression, typeOf).slice(0, MAX_FAULTS) : scope.faults;
  return { type, faults: faults.toSorted((a, b) => a.at - b.at), isTyped, typeOf };
}

/** The limit of cel-go: an expression may have one fault for every two characters. Source: cel-go/common/errors.go */
const MAX_FAULTS = 100;

/** A faulty expression has type dyn, which fits everything, so that the expressions around it report no error of their own. */
function report({ faults }: Environment, message: string, at: number): CelType {
  if (faults.length < MAX_FAULTS) faults.push(new CelSyntaxError(message, at));
  return DYN;
}

const RESOURCE_CHECK = readCelType("resourceCheck");
const [BOOL, INT] = [readCelType("bool"), readCelType("int")];

function check(expression: CelExpression, scope: Environment): CelType {
  const type = checkByForm(expression, scope);
  scope.types.set(expression, type);
  return type;
}

function checkByForm(expression: CelExpression, scope: Environment): CelType {
  switch (expression.type) {
    case "literal":
      return readCelType(typeNameOf(expression.value).replace("null_type", "null"));
    case "identifier":
      return checkName(expression.name, expression.at, scope);
    case "select":
      return checkSelect(expression, scope);
    case "has":
      checkField(check(expression.operand, scope), expression.field, expression.at, scope);
      return BOOL;
    case "index": {
      const name = expression.isOptional ? "_[?_]" : "_[_]";
      return checkIndex(name, expression, scope);
    }
    case "call":
      return checkCall(expression, scope);
    case "logic": {
      for (const side of expression.sides) expect(check(side, scope), BOOL, side.at, scope);
      return BOOL;
    }
    case "conditional":
      return checkConditional(expression, scope);
    case "list":
      return {
        kind: "list",
        of: join(
          expression.items.map(({ value, isOptional }) => partOf(value, isOptional, scope)),
          scope,
        ),
      };
    case "map": {
      const entries = expression.entries.map(
        ({ key, value, isOptional }) => [check(key, scope), partOf(value, isOptional, scope)] as const,
      );
      return {
        kind: "map",
        key: join(
          entries.map(([key]) => key),
          scope,
        ),
        value: join(
          entries.map(([, value]) => value),
          scope,
        ),
      };
    }
    case "message":
      return checkMessage(expression, scope);
    case "macro":
      return checkMacro(expression, scope);
  }
}

function checkName(name: string, at: number, scope: Environment): CelType {
  const type = Object.hasOwn(scope.variables, name) ? scope.variables[name] : undefined;
  if (type !== undefined) return type;
  if (TYPE_VALUES.has(name)) return { kind: "type", of: typeNamed(name) };
  return report(scope, `undeclared reference to '${name}' (in container '')`, at);
}

type OfKind<K extends CelExpression["type"]> = Extract<CelExpression, { readonly type: K }>;

function checkMessage({ name, fields, at }: OfKind<"message">, scope: Environment): CelType {
  const fieldType = scope.messages(name);
  if (fieldType === undefined) return report(scope, `undeclared reference to '${name}' (in container '')`, at);
  for (const { field, value, isOptional, at: place } of fields) {
    const type = partOf(value, isOptional, scope);
    const wanted = fieldType(field);
    if (wanted === undefined) report(scope, `undefined field '${field}'`, place);
    else if (!assign([type], [wanted], scope.bindings)) {
      const given = formatCelType(settle(type, scope.bindings));
      report(
        scope,
        `expected type of field '${field}' is '${formatCelType(wanted)}' but provided type is '${given}'`,
        place,
      );
    }
  }
  return { kind: "extension", name };
}

function checkSelect({ operand, field, isOptional, at }: OfKind<"select">, scope: Environment): CelType {
  const type = resolve(check(operand, scope), scope.bindings);
  const isMissing = type.kind === "optional";
  const found = checkField(isMissing ? type.of : type, field, at, scope);
  if (!isOptional && !isMissing) return found;
  return resolve(found, scope.bindings).kind === "optional" ? found : { kind: "optional", of: found };
}

function checkField(operand: CelType, field: string, at: number, scope: Environment): CelType {
  const type = resolve(operand, scope.bindings);
  switch (type.kind) {
    case "object":
      return fieldNamed(type.fields, field)?.type ?? report(scope, `undefined field '${field}'`, at);
    case "map":
      return type.value;
    case "optional":
      return checkField(type.of, field, at, scope);
    case "variable":
      assign([DYN], [type], scope.bindings);
      return DYN;
    case "dyn":
      return DYN;
    case "extension":
      if (type.name === EXTENSION_TYPES.authorizer && field === "requestResource") return RESOURCE_CHECK;
      return report(scope, `type '${formatCelType(type)}' does not support field selection`, at);
    default:
      return report(scope, `type '${formatCelType(type)}' does not support field selection`, at);
  }
}

/** An index of what may be missing gives what may be missing. */
function checkIndex(name: string, { operand, index, at }: OfKind<"index">, scope: Environment): CelType {
  const type = resolve(check(operand, scope), scope.bindings);
  const isMissing = type.kind === "optional" && name === "_[_]";
  const found = callType(name, [isMissing ? type.of : type, check(index, scope)], false, at, scope);
  return isMissing ? { kind: "optional", of: found } : found;
}

function checkCall({ name, target, args, at }: OfKind<"call">, scope: Environment): CelType {
  const types = (target === undefined ? args : [target, ...args]).map((part) => check(part, scope));
  return callType(name, types, target !== undefined, at, scope);
}

function callType(name: string, args: readonly CelType[], isMethod: boolean, at: number, scope: Environment): CelType {
  const { bindings } = scope;
  const overloads = overloadsOf(name);
  if (overloads.length === 0) return report(scope, `undeclared reference to '${name}' (in container '')`, at);
  let result: CelType | undefined;
  for (const overload of overloads) {
    if (overload.isMethod !== isMethod || overload.parameters.length !== args.length) continue;
    const [own = DYN, ...parameters] = instantiate([overload.result, ...overload.parameters], bindings);
    if (!assign(args, parameters, bindings)) continue;
    const type = substitute(own, bindings);
    if (result === undefined) result = type;
    else if (formatCelType(result) !== formatCelType(type)) result = DYN;
  }
  return result ?? noOverload(name, args, isMethod, at, scope);
}

function noOverload(
  name: string,
  args: readonly CelType[],
  isMethod: boolean,
  at: number,
  scope: Environment,
): CelType {
  const [first = "", ...rest] = args.map((type) => formatCelType(settle(type, scope.bindings)));
  const applied = isMethod ? `${first}.(${rest.join(", ")})` : `(${[first, ...rest].join(", ")})`;
  return report(scope, `found no matching overload for '${name}' applied to '${applied}'`, at);
}

function checkConditional({ test, then, otherwise, at }: OfKind<"conditional">, scope: Environment): CelType {
  const types = [test, then, otherwise].map((part) => check(part, scope));
  const result = freshVariable(scope.bindings);
  if (!assign(types, [BOOL, result, result], scope.bindings)) return noOverload("_?_:_", types, false, at, scope);
  const sides = types.slice(1).map((type) => resolve(type, scope.bindings));
  const unknown = sides.filter((type) => type.kind === "dyn");
  return unknown.find(({ isAny }) => isAny !== true) ?? unknown[0] ?? substitute(result, scope.bindings);
}

/** An item that may be missing: what it is when it is not. */
function partOf(value: CelExpression, isOptional: boolean, scope: Environment): CelType {
  const type = check(value, scope);
  if (!isOptional) return type;
  const found = resolve(type, scope.bindings);
  if (found.kind === "optional") return found.of;
  if (found.kind !== "dyn") expect(found, { kind: "optional", of: found }, value.at, scope);
  return found;
}

/** One type for all, `dyn` where they differ: see check-literals.ts. */
function join(types: readonly CelType[], scope: Environment): CelType {
  const [first, ...rest] = types;
  if (first === undefined) return freshVariable(scope.bindings);
  return rest.reduce(
    (joined, type) => (assign([joined], [type], scope.bindings) ? moreGeneral(joined, type) : DYN),
    first,
  );
}

function expect(actual: CelType, wanted: CelType, at: number, scope: Environment): void {
  if (assign([actual], [wanted], scope.bindings)) return;
  const [found, expected] = [actual, wanted].map((type) => formatCelType(settle(type, scope.bindings)));
  report(scope, `expected type '${expected}' but found '${found}'`, at);
}

function checkMacro(macro: CelMacro, scope: Environment): CelType {
  const { name, target, variables, bodies, at } = macro;
  const range = resolve(check(target, scope), scope.bindings);
  if (name === "optMap" || name === "optFlatMap") return checkOptional(macro, range, scope);
  if (name === BIND) return checkBind(macro, range, scope);
  const bound = boundTypes(range, variables.length, target.at, scope);
  const own = Object.fromEntries(variables.map((variable, index) => [variable, bound[index] ?? DYN]));
  const inner = { ...scope, variables: { ...scope.variables, ...own } };
  const types = bodies.map((body) => check(body, inner));
  const [first = DYN, second] = types;
  const test = (): void => {
    if (!assign([first], [BOOL], scope.bindings)) expect(first, BOOL, bodies[0]?.at ?? at, scope);
  };
  const last = second ?? first;
  if (second !== undefined) test();
  switch (name) {
    case "map":
    case "transformList":
      return { kind: "list", of: last };
    case "transformMap":
      return { kind: "map", key: bound[0] ?? DYN, value: last };
    case "transformMapEntry":
      expect(last, { kind: "map", key: DYN, value: DYN }, bodies.at(-1)?.at ?? at, scope);
      return last;
    case "filter":
      test();
      return { kind: "list", of: bound[0] ?? DYN };
    case "sortBy":
      return callType(SORT_BY_KEYS, [range, { kind: "list", of: last }], true, at, scope);
    default:
      test();
      return BOOL;
  }
}

/** The value of the last argument, which may use the first by its name. */
function checkBind({ variables, bodies }: CelMacro, value: CelType, scope: Environment): CelType {
  const [name = ""] = variables;
  const [body] = bodies;
  return body === undefined ? DYN : check(body, { ...scope, variables: { ...scope.variables, [name]: value } });
}

/** Types of the variables: items, or keys; with two of them, places and items, or keys and values. */
function boundTypes(range: CelType, count: number, at: number, scope: Environment): readonly CelType[] {
  switch (range.kind) {
    case "list":
      return count === 1 ? [range.of] : [INT, range.of];
    case "map":
      return [range.key, range.value];
    case "variable":
      assign([DYN], [range], scope.bindings);
      return [DYN, DYN];
    case "dyn":
      return range.isAny === true ? [noRange(range, at, scope)] : [DYN, DYN];
    default:
      return [noRange(range, at, scope)];
  }
}

const noRange = (range: CelType, at: number, scope: Environment): CelType =>
  report(
    scope,
    `expression of type '${formatCelType(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    at,
  );

function checkOptional({ name, variables, bodies, at }: CelMacro, range: CelType, scope: Environment): CelType {
  const inner = freshVariable(scope.bindings);
  if (!assign([range], [{ kind: "optional", of: inner }], scope.bindings)) {
    return noOverload("hasValue", [range], true, at, scope);
  }
  const [variable = ""] = variables;
  const [body] = bodies;
  const type =
    body === undefined ? DYN : check(body, { ...scope, variables: { ...scope.variables, [variable]: inner } });
  if (name === "optMap") return { kind: "optional", of: type };
  expect(type, { kind: "optional", of: freshVariable(scope.bindings) }, body?.at ?? at, scope);
  return type;
}
