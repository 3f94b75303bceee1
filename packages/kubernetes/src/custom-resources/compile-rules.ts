// Compiles the rules (x-kubernetes-validations) of a schema, and reports their errors.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/{compilation,validation}.go, pkg/apis/apiextensions/validation

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { type StructuralSchema, valueSchemaOf } from "@postern/apimachinery/schema/structural-schema";
import type { Steps } from "@postern/apimachinery/steps/steps";
import {
  childPath,
  type FieldError,
  indexPath,
  invalidError,
  keyPath,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { type CelExpression, CelSyntaxError, childrenOf, textOfSyntaxErrors } from "@postern/cel/cel-expression";
import type { CelType } from "@postern/cel/cel-type";
import { type CelVariables, type CheckedCel, checkCel } from "@postern/cel/check-cel";
import { constantFault } from "@postern/cel/constant-fault";
import { estimateCost } from "@postern/cel/estimate-cost";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import { type SizeLimits, sizeLimitsOf } from "@postern/cel/schema-size";
import { celTypeOfSchema } from "@postern/cel/schema-type";
import { cardinalityBelow, createRuleCosts, mostInRequest, type RuleCosts } from "./rule-costs.ts";
import { FieldPathError, readRuleFieldPath } from "./rule-field-path.ts";

export type Rule = {
  readonly expression: CelExpression;
  /** Uses oldSelf. */
  readonly usesOldSelf: boolean;
  /** `oldSelf` may be missing, and the rule is checked on create as well. */
  readonly isOldSelfOptional: boolean;
  /** Text that errors of the rule show: its message, or the text of the rule. */
  readonly text: string;
  readonly message: string;
  readonly messageExpression: CelExpression | undefined;
  readonly reason: string;
  /** Below the value, such as `.name`; "" for the value itself. */
  readonly fieldPath: string;
};

/** A part of a schema that has rules, or parts with rules. */
export type RuleNode = {
  readonly schema: StructuralSchema;
  readonly type: CelType;
  readonly rules: readonly Rule[];
  /** Rules of allOf, about the same value. */
  readonly allOf: readonly RuleNode[];
  readonly properties: ReadonlyMap<string, RuleNode>;
  /** Rules of the values of a map. */
  readonly values: RuleNode | undefined;
  readonly items: RuleNode | undefined;
};

type Place = {
  readonly path: string;
  /** The path of the list above whose items cannot be distinguished over time. */
  readonly uncorrelatable: string | undefined;
  /** Maximum number of values in one object; undefined if the schema does not limit it. */
  readonly cardinality: number | undefined;
  /** Absent if costs are not estimated: below allOf, as upstream. */
  readonly costs: RuleCosts | undefined;
};

/** All faults of rules, and those with which a rule that is stored can still be evaluated. */
export type RuleFaults = { readonly all: FieldError[]; readonly tolerated: Set<FieldError> };

/** Faults have paths such as `<path>.properties[spec].x-kubernetes-validations[0].rule`. Undefined without rules. */
export function* compileRules(schema: StructuralSchema, path: string, faults: RuleFaults): Steps<RuleNode | undefined> {
  if (!hasRules(schema)) return undefined;
  const costs = createRuleCosts({ push: (...errors) => tolerate(faults, errors) });
  const root = yield* compileNode(
    schema,
    schema,
    true,
    { path, uncorrelatable: undefined, cardinality: 1, costs },
    faults,
  );
  costs.check(path);
  return root;
}

function tolerate({ all, tolerated }: RuleFaults, errors: readonly FieldError[]): number {
  for (const error of errors) tolerated.add(error);
  return all.push(...errors);
}

const partsOf = (schema: StructuralSchema): readonly StructuralSchema[] =>
  [...Object.values(schema.properties ?? {}), schema.items, valueSchemaOf(schema), ...(schema.allOf ?? [])].filter(
    (part) => part !== undefined,
  );

const hasRules = (schema: StructuralSchema): boolean =>
  (schema["x-kubernetes-validations"] ?? []).length > 0 || partsOf(schema).some(hasRules);

/** `validation` has the rules, and `schema` the types: they differ below allOf. */
function* compileNode(
  validation: StructuralSchema,
  schema: StructuralSchema,
  isRoot: boolean,
  place: Place,
  faults: RuleFaults,
): Steps<RuleNode | undefined> {
  if (!hasRules(validation)) return undefined;
  const type = celTypeOfSchema(schema, { isResourceRoot: isRoot });
  const limits = sizeLimitsOf(schema, isRoot);
  const rules = yield* compileOwnRules(validation, schema, type, limits, place, faults);
  if (type === undefined) return undefined;
  function* below(
    part: StructuralSchema | undefined,
    typed: StructuralSchema | undefined,
    at: Place,
  ): Steps<RuleNode | undefined> {
    if (part === undefined || typed === undefined) return undefined;
    return yield* compileNode(part, typed, typed["x-kubernetes-embedded-resource"] === true, at, faults);
  }
  const cardinality = cardinalityBelow(schema, place.cardinality);
  const at = (step: string): Place => ({ ...place, path: childPath(place.path, step), cardinality });
  const properties = new Map<string, RuleNode>();
  for (const [name, property] of Object.entries(validation.properties ?? {})) {
    const step = at("properties");
    const node = yield* below(property, schema.properties?.[name], {
      ...step,
      path: keyPath(step.path, name),
      uncorrelatable: place.uncorrelatable ?? (isAtomicMap(schema) ? place.path : undefined),
    });
    if (node !== undefined) properties.set(name, node);
  }
  const allOf: RuleNode[] = [];
  for (const [index, part] of (validation.allOf ?? []).entries()) {
    const path = indexPath(at("allOf").path, index);
    const node = yield* compileNode(part, schema, isRoot, { ...place, path, costs: undefined }, faults);
    if (node !== undefined) allOf.push(node);
  }
  const items = at("items");
  return {
    schema,
    type,
    rules,
    allOf,
    properties,
    values: yield* below(valueSchemaOf(validation), valueSchemaOf(schema), at("additionalProperties")),
    items: yield* below(validation.items, schema.items, {
      ...items,
      uncorrelatable: place.uncorrelatable ?? (schema["x-kubernetes-list-type"] === "map" ? undefined : place.path),
    }),
  };
}

const isAtomicMap = (schema: StructuralSchema): boolean => schema["x-kubernetes-map-type"] === "atomic";

const REASONS = ["FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"];

function* compileOwnRules(
  validation: StructuralSchema,
  schema: StructuralSchema,
  type: CelType | undefined,
  limits: SizeLimits | undefined,
  { path, uncorrelatable, cardinality, costs }: Place,
  faults: RuleFaults,
): Steps<readonly Rule[]> {
  const errors = faults.all;
  const sources = (validation["x-kubernetes-validations"] ?? []).filter(isJsonObject);
  const at = childPath(path, "x-kubernetes-validations");
  if (sources.length > 0 && type === undefined) {
    const why = `rule declared on schema that does not support validation rules type: '${schema.type ?? ""}' x-kubernetes-preserve-unknown-fields: '${schema["x-kubernetes-preserve-unknown-fields"] === true}'`;
    errors.push(invalidError(at, "", why));
    return [];
  }
  const times = cardinality ?? (limits === undefined ? 1 : mostInRequest(limits));
  const rules: Rule[] = [];
  for (const [index, source] of sources.entries()) {
    yield;
    const here = indexPath(at, index);
    const estimate: Estimate = (member, expression, checked) => {
      if (limits === undefined) return;
      costs?.observe(here, member, estimateCost(expression, checked, limits), member === "rule" ? times : 1);
    };
    const rule = type === undefined ? undefined : compileRule(source, schema, type, here, faults, estimate);
    if (rule === undefined) continue;
    if (rule.usesOldSelf && uncorrelatable !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
      errors.push(invalidError(childPath(here, "rule"), textOf(source, "rule"), why));
    }
    rules.push(rule);
  }
  return rules;
}

/** Called with every expression that compiles. Messages are evaluated once: only refused values have one. */
type Estimate = (member: keyof typeof RESULTS, expression: CelExpression, checked: CheckedCel) => void;

const textOf = (source: JsonObject, member: string): string => {
  const value = source[member];
  return typeof value === "string" ? value : "";
};

/** Undefined for an invalid rule; `errors` has the reason. */
function compileRule(
  source: JsonObject,
  schema: StructuralSchema,
  type: CelType,
  path: string,
  faults: RuleFaults,
  estimate: Estimate,
): Rule | undefined {
  const errors = faults.all;
  errors.push(...messageFaults(source, path));
  const rule = textOf(source, "rule");
  if (rule.trim() === "") {
    errors.push(requiredError(childPath(path, "rule"), "rule is not specified"));
    return undefined;
  }
  const isOldSelfOptional = source["optionalOldSelf"] === true;
  const oldSelf: CelType = isOldSelfOptional ? { kind: "optional", of: type } : type;
  const expression = compile(source, "rule", { self: type, oldSelf }, path, faults, estimate);
  // Upstream looks at the message of a rule that compiles.
  const messageExpression =
    expression === undefined || textOf(source, "messageExpression").trim() === ""
      ? undefined
      : compile(source, "messageExpression", { self: type, oldSelf }, path, faults, estimate);
  const fieldPath = fieldPathOf(source, schema, path, errors);
  if (expression === undefined) return undefined;
  const message = textOf(source, "message").trim();
  const usesOldSelf = mentions(expression, "oldSelf");
  if (isOldSelfOptional && !usesOldSelf) {
    const why = "may not be set if oldSelf is not used in rule";
    errors.push(invalidError(childPath(path, "optionalOldSelf"), true, why));
  }
  return {
    expression,
    usesOldSelf,
    isOldSelfOptional,
    text: message || rule.trim(),
    message: message || `failed rule: ${rule.trim()}`,
    messageExpression,
    reason: textOf(source, "reason"),
    fieldPath,
  };
}

function messageFaults(source: JsonObject, path: string): readonly FieldError[] {
  const [rule, message, expression] = ["rule", "message", "messageExpression"].map((name) => textOf(source, name));
  const reason = textOf(source, "reason");
  const errors: FieldError[] = [];
  const at = childPath(path, "message");
  if (message !== undefined && message !== "" && message.trim() === "") {
    errors.push(invalidError(at, message, "message must be non-empty if specified"));
  } else if (message?.trim().includes("\n")) {
    errors.push(invalidError(at, message, "message must not contain line breaks"));
  } else if (rule?.trim().includes("\n") && message?.trim() === "") {
    errors.push(requiredError(at, "message must be specified if rule contains line breaks"));
  }
  if (expression !== undefined && expression !== "" && expression.trim() === "") {
    errors.push(
      requiredError(childPath(path, "messageExpression"), "messageExpression must be non-empty if specified"),
    );
  }
  if (reason !== "" && !REASONS.includes(reason)) {
    errors.push(notSupportedError(childPath(path, "reason"), reason, REASONS.toSorted()));
  }
  return errors;
}

const RESULTS = {
  rule: {
    kind: "bool",
    fault: "cel expression must evaluate to a bool",
    begin: "compilation failed",
    constant: "program instantiation failed",
  },
  messageExpression: {
    kind: "string",
    fault: "messageExpression must evaluate to a string",
    begin: "messageExpression compilation failed",
    constant: "messageExpression instantiation failed",
  },
} as const;

function compile(
  source: JsonObject,
  member: keyof typeof RESULTS,
  variables: CelVariables,
  path: string,
  faults: RuleFaults,
  estimate: Estimate,
): CelExpression | undefined {
  const text = textOf(source, member);
  const { kind, fault, begin, constant } = RESULTS[member];
  const faultOf = (why: string): FieldError => invalidError(childPath(path, member), text, why);
  const refuse = (why: string): undefined => {
    faults.all.push(faultOf(why));
  };
  const faultText = (found: readonly CelSyntaxError[]): string => `${begin}: ${textOfSyntaxErrors(found, text)}`;
  try {
    const expression = parseCel(text, CEL_NAMES);
    const checked = checkCel(expression, variables);
    if (!checked.isTyped) return refuse(faultText(checked.faults));
    if (checked.faults.length > 0) {
      tolerate(faults, [faultOf(faultText(checked.faults))]);
      return expression;
    }
    if (checked.type.kind !== kind) return refuse(fault);
    const broken = constantFault(expression);
    if (broken !== undefined) {
      tolerate(faults, [faultOf(`${constant}: ${broken}`)]);
      return expression;
    }
    estimate(member, expression, checked);
    return expression;
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    return refuse(faultText([error]));
  }
}

function fieldPathOf(source: JsonObject, schema: StructuralSchema, path: string, errors: FieldError[]): string {
  const text = textOf(source, "fieldPath");
  if (text === "") return "";
  const refuse = (why: string): string => {
    errors.push(invalidError(childPath(path, "fieldPath"), text, why));
    return "";
  };
  if (text.trim() === "") return refuse("fieldPath must be non-empty if specified");
  if (text.includes("\n")) return refuse("fieldPath must not contain line breaks");
  try {
    return readRuleFieldPath(text.trim(), schema);
  } catch (error) {
    if (error instanceof FieldPathError) return refuse(`fieldPath must be a valid path: ${error.message}`);
    throw error;
  }
}

const mentions = (expression: CelExpression, name: string): boolean =>
  (expression.type === "identifier" && expression.name === name) ||
  childrenOf(expression).some((part) => mentions(part, name));
