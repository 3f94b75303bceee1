// Updates `status` of ValidatingAdmissionPolicies with the type warnings of their expressions. They change no decision.
// Source: k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus/controller.go

import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { indexPath } from "@postern/apimachinery/validation/field-error";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController, followKeys } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { inTurns } from "@postern/apiserver/runtime/in-slices";
import { CelSyntaxError, textOfSyntaxErrors } from "@postern/cel/cel-expression";
import type { CelField, CelType } from "@postern/cel/cel-type";
import { type CelVariables, checkCel } from "@postern/cel/check-cel";
import { CEL_NAMES } from "@postern/cel/functions/cel-library";
import { parseCel } from "@postern/cel/parse-cel";
import { celTypeOfSchema } from "@postern/cel/schema-type";
import { EXPRESSION_NAMES } from "./compiled-policy.ts";
import type { MatchRule, Policy, PolicySpec } from "./validating-admission-policy.ts";

/** A policy is looked at once for each generation: a kind that comes later is not looked at again for its sake, as upstream. */
export function createPolicyStatusController(
  port: ControllerPort,
  policies: InstalledResource,
  registry: Pick<ResourceRegistry, "definitions">,
): Controller {
  const queue = new WorkQueue(port, { name: "validating_admission_policy_status", process, concurrency: 1 });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // Stored objects have passed the schema of their kind.
    const policy = policies.view.get(key)?.decode() as Policy | undefined;
    if (policy === undefined) return;
    const { generation = 0 } = policy.metadata;
    if (policy.status?.observedGeneration === generation) return;
    const expressionWarnings = await inTurns(typeWarningsOf(policy, registry.definitions), port.runtime.clock);
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
    const transform = (current: KubeObject): KubeObject => ({
      ...current,
      status: { ...(current as Policy).status, observedGeneration: generation, typeChecking },
    });
    await ignoringConflicts(() =>
      updateControlled(port, policies, policy, { subresource: "status", transform }, signal),
    );
  }

  return createQueueController(queue, [followKeys(policies, port.runtime.scheduler, (key) => queue.add(key))]);
}

// Suspicious parts of the expressions of a policy, found with the types of the objects that it is about. They change no decision.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go

type ExpressionWarning = { readonly fieldRef: string; readonly warning: string };

/** The maximum number of types to check, whatever a policy names. */
const MAX_TYPES = 10;
const DYN: CelType = { kind: "dyn" };

/** A step for each expression and type. */
function* typeWarningsOf(
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
  (definition === undefined ? undefined : celTypeOfSchema(definition.schema, false, DYN)) ?? DYN;

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
