// Type checks the expressions of a policy against the kinds that it matches. Warnings change no decision.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go

import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { indexPath } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { CelSyntaxError, textOfSyntaxErrors } from "@postern/cel/cel-expression";
import type { CelField, CelType } from "@postern/cel/cel-type";
import { type CelVariables, checkCel } from "@postern/cel/check-cel";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import { celTypeOfSchema } from "@postern/cel/schema-type";
import { EXPRESSION_NAMES } from "./compiled-policy.ts";
import type { MatchRule, Policy, PolicySpec } from "./validating-admission-policy.ts";

type ExpressionWarning = { readonly fieldRef: string; readonly warning: string };

/** The maximum number of types to check, whatever a policy names. */
const MAX_TYPES = 10;
const DYN: CelType = { kind: "dyn" };

/** A step for each expression and type. */
export function* typeWarningsOf(
  { spec = {} }: Policy,
  definitions: readonly ResourceDefinition[],
): Steps<readonly ExpressionWarning[]> {
  const params = typeOf(paramDefinition(spec, definitions));
  const scopes: { readonly definition: ResourceDefinition; readonly names: CelVariables }[] = [];
  for (const definition of definitionsToCheck(spec, definitions)) {
    const object = typeOf(definition);
    const names = { ...EXPRESSION_NAMES.policy, object, oldObject: object, params };
    scopes.push({ definition, names: { ...names, variables: yield* typeOfVariables(spec, names) } });
  }
  const warnings: ExpressionWarning[] = [];
  function* warn(fieldRef: string, text = ""): Steps<void> {
    if (text.trim() === "") return;
    const found: string[] = [];
    for (const { definition, names } of scopes) {
      yield;
      const { faults } = check(text, names);
      if (faults !== "") found.push(`${nameOf(definition)}: ${faults}\n`);
    }
    if (found.length > 0) warnings.push({ fieldRef, warning: found.join("\n") });
  }
  for (const [index, { expression, messageExpression }] of (spec.validations ?? []).entries()) {
    const path = indexPath("spec.validations", index);
    yield* warn(`${path}.expression`, expression);
    yield* warn(`${path}.messageExpression`, messageExpression);
  }
  return warnings;
}

const nameOf = ({ group, version, kind }: ResourceDefinition): string => `${group}/${version}, Kind=${kind}`;

const typeOf = (definition: ResourceDefinition | undefined): CelType =>
  (definition === undefined ? undefined : celTypeOfSchema(definition.schema, { open: DYN })) ?? DYN;

function check(text: string, names: CelVariables): { readonly type: CelType; readonly faults: string } {
  try {
    const { type, faults } = checkCel(parseCel(text, CEL_NAMES), names);
    return { type, faults: textOfSyntaxErrors(faults, text) };
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    return { type: DYN, faults: textOfSyntaxErrors([error], text) };
  }
}

/** Each sees those before it. */
function* typeOfVariables({ variables = [] }: PolicySpec, names: CelVariables): Steps<CelType> {
  const fields = new Map<string, CelField>();
  for (const { name, expression } of variables) {
    yield;
    const { type } = check(expression, { ...names, variables: { kind: "object", fields: new Map(fields) } });
    fields.set(name, { property: name, type });
  }
  return { kind: "object", fields };
}

function paramDefinition(
  { paramKind }: PolicySpec,
  definitions: readonly ResourceDefinition[],
): ResourceDefinition | undefined {
  const parsed = parseApiVersion(paramKind?.apiVersion ?? "");
  return definitions.find(
    ({ group, version, kind }) => group === parsed?.group && version === parsed.version && kind === paramKind?.kind,
  );
}

/** Those that rules name without a wildcard, by group, version and kind. */
function definitionsToCheck(
  { matchConstraints }: PolicySpec,
  definitions: readonly ResourceDefinition[],
): readonly ResourceDefinition[] {
  const rules = matchConstraints?.resourceRules ?? [];
  const named = definitions.filter((definition) => rules.some((rule) => names(rule, definition)));
  return named.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)).slice(0, MAX_TYPES);
}

function names(
  { apiGroups = [], apiVersions = [], resources = [] }: MatchRule,
  { group, version, plural }: ResourceDefinition,
): boolean {
  if ([...apiGroups, ...apiVersions].some((text) => text.includes("*"))) return false;
  return apiGroups.includes(group) && apiVersions.includes(version) && resources.includes(plural);
}
