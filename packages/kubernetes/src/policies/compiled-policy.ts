// The compiled expressions of a policy, and their compile errors.
// Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go, k8s.io/apiserver/pkg/admission/plugin/cel/compile.go

import type { Steps } from "@postern/apimachinery/steps/steps";
import {
  type FieldError,
  indexPath,
  internalError,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { type CelExpression, CelSyntaxError, textOfSyntaxErrors } from "@postern/cel/cel-expression";
import { type CelField, type CelType, formatGoType, readCelType } from "@postern/cel/cel-type";
import { type CelMessages, type CelVariables, checkCel } from "@postern/cel/check-cel";
import { constantFault } from "@postern/cel/constant-fault";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import type { CompiledExpression, NamedExpression } from "./evaluate-expression.ts";
import { NAMESPACE_TYPE, REQUEST_TYPE } from "./expression-types.ts";
import type { Policy } from "./validating-admission-policy.ts";

export type CompiledPolicy = {
  readonly matchConditions: readonly NamedExpression[];
  readonly variables: readonly NamedExpression[];
  readonly validations: readonly (CompiledExpression & {
    readonly text: string;
    readonly message: string;
    readonly messageExpression: CompiledExpression | undefined;
    readonly reason: string;
  })[];
  readonly auditAnnotations: readonly NamedExpression[];
};

const DYN: CelType = { kind: "dyn" };
const AUTHORIZER = readCelType("authorizer");
const OUTER = { object: DYN, oldObject: DYN, request: REQUEST_TYPE, params: DYN };
/**
 * Names that expressions of each place may use. `params` and `variables` may be missing, and are known all the same: they fail where they are asked for.
 */
export const EXPRESSION_NAMES = {
  matchCondition: { ...OUTER, authorizer: AUTHORIZER },
  webhook: { object: DYN, oldObject: DYN, request: REQUEST_TYPE, authorizer: AUTHORIZER },
  message: { ...OUTER, namespaceObject: NAMESPACE_TYPE, variables: DYN },
  policy: { ...OUTER, namespaceObject: NAMESPACE_TYPE, variables: DYN, authorizer: AUTHORIZER },
} as const;

type Wanted = readonly CelType["kind"][];
type Mutable<T> = { [K in keyof T]: T[K] extends readonly (infer Item)[] ? Item[] : T[K] };

type Place = keyof typeof EXPRESSION_NAMES;

type CompileOptions = {
  readonly wanted: Wanted;
  /** The type, as messages of upstream show it, that the expression has to have. Absent: one of `wanted`. */
  readonly exactly?: string;
  /** Types of which the expression may make objects. Absent: none. */
  readonly messages?: CelMessages;
  readonly place: Place;
  /** The type of `variables`, with those that are known so far; undefined for a policy without variables. */
  readonly known: CelType | undefined;
  /** The text is shown with the space around it. Default: without. */
  readonly keepsSpace?: boolean;
  /** Expressions know `params`. Default: they do. */
  readonly hasParams?: boolean;
};

/** Undefined for what cannot be evaluated. A stored expression with other faults is: a policy must not lapse with a later version of the server. */
export const compileExpression = (
  text: string,
  path: string,
  options: CompileOptions,
  faults: FieldError[],
): CelExpression | undefined => compileTyped(text, path, options, faults)?.expression;

type Typed = { readonly expression: CelExpression; readonly type: CelType };

function compileTyped(
  source: string,
  path: string,
  { wanted, exactly, messages, place, known, hasParams = true, keepsSpace = false }: CompileOptions,
  faults: FieldError[],
): Typed | undefined {
  const text = keepsSpace ? source : source.trim();
  if (text.trim() === "") {
    faults.push(requiredError(path, "expression is not specified"));
    return undefined;
  }
  const refuse = (why: string): void => void faults.push(invalidError(path, text, why));
  const refuseFor = (errors: readonly CelSyntaxError[]): void =>
    refuse(`compilation failed: ${textOfSyntaxErrors(errors, text)}`);
  try {
    const expression = parseCel(text, CEL_NAMES);
    const checked = checkCel(expression, namesAt(place, known, hasParams), messages);
    const { type } = checked;
    if (checked.faults.length > 0) refuseFor(checked.faults);
    if (!checked.isTyped) return undefined;
    if (checked.faults.length > 0) return { expression, type };
    const given = formatGoType(type);
    const asked = exactly ?? wantedText(wanted);
    const fits = exactly === undefined ? wanted.length === 0 || wanted.includes(type.kind) : given === exactly;
    const broken = fits ? constantFault(expression) : undefined;
    if (!fits) refuse(`must evaluate to ${asked} but got ${given}`);
    if (broken !== undefined) faults.push(internalError(path, `program instantiation failed: ${broken}`));
    return fits || type.kind === "dyn" ? { expression, type } : undefined;
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    refuseFor([error]);
    return undefined;
  }
}

/** Expressions of webhooks never know `params`, and those of a policy without variables no `variables`. */
function namesAt(place: Place, known: CompileOptions["known"], hasParams: boolean): CelVariables {
  const names = Object.entries<CelType>(EXPRESSION_NAMES[place]).filter(
    ([name]) => (name !== "params" || hasParams) && (name !== "variables" || known !== undefined),
  );
  return {
    ...Object.fromEntries(names),
    ...("variables" in EXPRESSION_NAMES[place] && known !== undefined ? { variables: known } : {}),
  };
}

const wantedText = (wanted: Wanted): string => (wanted.length === 1 ? String(wanted[0]) : "one of [string null_type]");

/** Compiles a match condition of a webhook. */
export function compileMatchCondition(
  text: string,
  path: string,
): { readonly expression: CelExpression | undefined; readonly faults: readonly FieldError[] } {
  const faults: FieldError[] = [];
  const expression = compileExpression(text, path, { wanted: ["bool"], place: "webhook", known: undefined }, faults);
  return { expression, faults };
}

/** A step for each expression: a policy may have thousands. */
export function* compilePolicy(
  { spec }: Pick<Policy, "spec">,
  // A policy that was stored before `params` needed a kind is still evaluated, and fails.
  hasParams = true,
): Steps<{
  readonly compiled: CompiledPolicy;
  readonly faults: readonly FieldError[];
  /** The type of `variables`. */
  readonly known: CelType | undefined;
}> {
  const faults: FieldError[] = [];
  const variables = spec?.variables ?? [];
  const fields = new Map<string, CelField>();
  const known: CelType | undefined = variables.length > 0 ? { kind: "object", fields } : undefined;
  const compileAt = (text: string, path: string, wanted: Wanted, place: Place = "policy") =>
    compileExpression(text, path, { wanted, place, known, hasParams }, faults);

  const named = (name: string, expression: CelExpression | undefined): readonly NamedExpression[] =>
    expression === undefined ? [] : [{ name, expression }];
  const compiled: Mutable<CompiledPolicy> = {
    variables: [],
    matchConditions: [],
    validations: [],
    auditAnnotations: [],
  };
  for (const [index, { name, expression }] of variables.entries()) {
    yield;
    const path = `${indexPath("spec.variables", index)}.expression`;
    const typed = compileTyped(
      expression,
      path,
      { wanted: [], place: "policy", known, hasParams, keepsSpace: true },
      faults,
    );
    compiled.variables.push(...named(name, typed?.expression));
    fields.set(name, { property: name, type: typed?.type ?? DYN });
  }
  for (const [index, { name, expression }] of (spec?.matchConditions ?? []).entries()) {
    yield;
    const path = `${indexPath("spec.matchConditions", index)}.expression`;
    compiled.matchConditions.push(...named(name, compileAt(expression, path, ["bool"], "matchCondition")));
  }
  for (const [index, validation] of (spec?.validations ?? []).entries()) {
    yield;
    const path = indexPath("spec.validations", index);
    const { message = "", reason = "Invalid", messageExpression: messageText = "" } = validation;
    const expression = compileAt(validation.expression, `${path}.expression`, ["bool"]);
    const compiledMessage =
      messageText === "" ? undefined : compileAt(messageText, `${path}.messageExpression`, ["string"], "message");
    const messageExpression = compiledMessage && { expression: compiledMessage };
    const text = validation.expression.trim();
    if (expression !== undefined) compiled.validations.push({ text, expression, message, messageExpression, reason });
  }
  for (const [index, { key, valueExpression }] of (spec?.auditAnnotations ?? []).entries()) {
    yield;
    const path = `${indexPath("spec.auditAnnotations", index)}.valueExpression`;
    compiled.auditAnnotations.push(...named(key, compileAt(valueExpression, path, ["string", "null"])));
  }
  return { compiled, faults, known };
}
