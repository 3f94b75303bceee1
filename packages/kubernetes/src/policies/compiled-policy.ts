// The compiled expressions of a policy, and their compile errors.
// Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go, k8s.io/apiserver/pkg/admission/plugin/cel/compile.go

import type { Steps } from "@postern/apimachinery/steps/steps";
import { type FieldError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { type CelExpression, CelSyntaxError, childrenOf, textOfSyntaxErrors } from "@postern/cel/cel-expression";
import { type CelType, formatCelType, readCelType } from "@postern/cel/cel-type";
import { type CelMessages, checkCel } from "@postern/cel/check-cel";
import { constantFault } from "@postern/cel/constant-fault";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import type { NamedExpression, SourcedExpression } from "./evaluate-expression.ts";
import type { Policy } from "./validating-admission-policy.ts";

export type CompiledPolicy = {
  readonly matchConditions: readonly NamedExpression[];
  readonly variables: readonly NamedExpression[];
  readonly validations: readonly (SourcedExpression & {
    readonly message: string;
    readonly messageExpression: SourcedExpression | undefined;
    readonly reason: string;
  })[];
  readonly auditAnnotations: readonly NamedExpression[];
};

const DYN: CelType = { kind: "dyn" };
const AUTHORIZER = readCelType("authorizer");
const OUTER = { object: DYN, oldObject: DYN, request: DYN, params: DYN };
/**
 * Names that expressions of each place may use. `params` and `variables` may be missing, and are known all the same: they fail where they are asked for.
 */
export const EXPRESSION_NAMES = {
  matchCondition: { ...OUTER, authorizer: AUTHORIZER },
  webhook: { object: DYN, oldObject: DYN, request: DYN, authorizer: AUTHORIZER },
  message: { ...OUTER, namespaceObject: DYN, variables: DYN },
  policy: { ...OUTER, namespaceObject: DYN, variables: DYN, authorizer: AUTHORIZER },
} as const;

type Wanted = readonly CelType["kind"][];
type Mutable<T> = { [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] };

type Place = keyof typeof EXPRESSION_NAMES;

type CompileOptions = {
  readonly wanted: Wanted;
  /** The type, as messages show it, that the expression has to have. Absent: one of `wanted`. */
  readonly exactly?: string;
  /** Types of which the expression may make objects. Absent: none. */
  readonly messages?: CelMessages;
  readonly place: Place;
  readonly known: ReadonlySet<string>;
  /** Expressions know `params`. Default: they do. */
  readonly hasParams?: boolean;
};

/** Undefined for what cannot be evaluated. A stored expression with other faults is: a policy must not lapse with a later version of the server. */
export function compileExpression(
  text: string,
  path: string,
  { wanted, exactly, messages, place, known, hasParams = true }: CompileOptions,
  faults: FieldError[],
): CelExpression | undefined {
  if (text.trim() === "") {
    faults.push(requiredError(path, "expression is not specified"));
    return undefined;
  }
  const refuse = (errors: readonly CelSyntaxError[]): undefined => {
    faults.push(invalidError(path, text, `compilation failed: ${textOfSyntaxErrors(errors, text)}`));
  };
  try {
    const expression = parseCel(text, CEL_NAMES);
    // Those of webhooks never know `params`.
    const { params, ...others } = { params: undefined, ...EXPRESSION_NAMES[place] };
    const checked = checkCel(expression, hasParams && params !== undefined ? { ...others, params } : others, messages);
    if (checked.faults.length > 0) refuse(checked.faults);
    if (!checked.isTyped) return undefined;
    const unknown = unknownVariable(expression, known);
    if (unknown !== undefined) return refuse([unknown]);
    if (wanted.length > 0 && !wanted.includes(checked.type.kind)) {
      faults.push(invalidError(path, text, `must evaluate to ${wantedText(wanted)} but got ${checked.type.kind}`));
      return undefined;
    }
    const given = formatCelType(checked.type);
    if (exactly !== undefined && given !== exactly) {
      faults.push(invalidError(path, text, `must evaluate to ${exactly} but got ${given}`));
      return undefined;
    }
    const broken = checked.faults.length > 0 ? undefined : constantFault(expression);
    if (broken !== undefined) faults.push(invalidError(path, text, `program instantiation failed: ${broken}`));
    return expression;
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    return refuse([error]);
  }
}

const wantedText = (wanted: Wanted): string => (wanted.length === 1 ? String(wanted[0]) : "one of [string null_type]");

/** Compiles a match condition of a webhook. */
export function compileMatchCondition(
  text: string,
  path: string,
): { readonly expression: CelExpression | undefined; readonly faults: readonly FieldError[] } {
  const faults: FieldError[] = [];
  const expression = compileExpression(text, path, { wanted: ["bool"], place: "webhook", known: new Set() }, faults);
  return { expression, faults };
}

/** A step for each expression: a policy may have thousands. */
export function* compilePolicy(
  { spec }: Pick<Policy, "spec">,
  // A policy that was stored before `params` needed a kind is still evaluated, and fails.
  hasParams = true,
): Steps<{ readonly compiled: CompiledPolicy; readonly faults: readonly FieldError[] }> {
  const faults: FieldError[] = [];
  const variables = spec?.variables ?? [];
  const known = new Set<string>();
  const compileAt = (text: string, path: string, wanted: Wanted, place: Place = "policy") =>
    compileExpression(text, path, { wanted, place, known, hasParams }, faults);

  const named = (name: string, text: string, expression: CelExpression | undefined): readonly NamedExpression[] =>
    expression === undefined ? [] : [{ name, text, expression }];
  const compiled: Mutable<CompiledPolicy> = {
    variables: [],
    matchConditions: [],
    validations: [],
    auditAnnotations: [],
  };
  for (const [index, { name, expression }] of variables.entries()) {
    yield;
    const path = `${indexPath("spec.variables", index)}.expression`;
    compiled.variables.push(...named(name, expression, compileAt(expression, path, [])));
    known.add(name);
  }
  for (const [index, { name, expression }] of (spec?.matchConditions ?? []).entries()) {
    yield;
    const path = `${indexPath("spec.matchConditions", index)}.expression`;
    compiled.matchConditions.push(...named(name, expression, compileAt(expression, path, ["bool"], "matchCondition")));
  }
  for (const [index, validation] of (spec?.validations ?? []).entries()) {
    yield;
    const path = indexPath("spec.validations", index);
    const { message = "", reason = "Invalid", messageExpression: messageText = "" } = validation;
    const expression = compileAt(validation.expression, `${path}.expression`, ["bool"]);
    const compiledMessage =
      messageText === "" ? undefined : compileAt(messageText, `${path}.messageExpression`, ["string"], "message");
    const messageExpression = compiledMessage && { text: messageText, expression: compiledMessage };
    const text = validation.expression.trim();
    if (expression !== undefined) compiled.validations.push({ text, expression, message, messageExpression, reason });
  }
  for (const [index, { key, valueExpression }] of (spec?.auditAnnotations ?? []).entries()) {
    yield;
    const path = `${indexPath("spec.auditAnnotations", index)}.valueExpression`;
    compiled.auditAnnotations.push(
      ...named(key, valueExpression, compileAt(valueExpression, path, ["string", "null"])),
    );
  }
  return { compiled, faults };
}

/** `variables.x` where there is no `x`, or where it comes later. */
function unknownVariable(expression: CelExpression, known: ReadonlySet<string>): CelSyntaxError | undefined {
  if (
    expression.type === "select" &&
    expression.operand.type === "identifier" &&
    expression.operand.name === "variables"
  ) {
    return known.has(expression.field)
      ? undefined
      : new CelSyntaxError(`undefined field '${expression.field}'`, expression.at);
  }
  for (const part of childrenOf(expression)) {
    const fault = unknownVariable(part, known);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
