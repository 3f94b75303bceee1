// Enforces ValidatingAdmissionPolicies that have bindings.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/{dispatcher,validator}.go

import { ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { systemUser } from "@postern/apiserver/context/system-context";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import { CelLimitError } from "@postern/cel/cel-budget";
import { CelEvaluationError } from "@postern/cel/cel-value";
import type { AnnotateEvent } from "./annotate-event.ts";
import { createBoundPolicies, type MeantPolicy, type PolicyAdmissionDeps } from "./bound-policies.ts";
import { type CompiledPolicy, compilePolicy } from "./compiled-policy.ts";
import { inVersion, type SeenRequest } from "./equivalent-versions.ts";
import {
  COST_PER_REQUEST,
  type CompiledExpression,
  createEvaluate,
  type Evaluate,
  type RequestEvaluation,
} from "./evaluate-expression.ts";
import { createAccessAnswers } from "./expression-scope.ts";
import { ADMISSION_GROUP, type Policy, type PolicyBinding } from "./validating-admission-policy.ts";

const VALIDATION_FAILURE = "validation.policy.admission.k8s.io/validation_failure";
const CODES: { readonly [reason: string]: number } = {
  Unauthorized: 401,
  Forbidden: 403,
  Invalid: 422,
  RequestEntityTooLarge: 413,
};

type Decision = { readonly message: string; readonly reason: string };

/** Costs nothing but two look-ups where nothing is bound. */
export function createPolicyAdmission({
  authorizer,
  annotateEvent,
  ...deps
}: PolicyAdmissionDeps & { readonly annotateEvent: AnnotateEvent }): AdmissionPlugin {
  const { registry } = deps;
  const bound = createBoundPolicies<Policy, CompiledPolicy>(deps, function* (policy) {
    return (yield* compilePolicy(policy)).compiled;
  });

  return {
    name: "ValidatingAdmissionPolicy",

    async validate(attributes) {
      const { resource, context } = attributes;
      if (bound.isEmpty() || resource.group === ADMISSION_GROUP || context.user === systemUser) return;
      const evaluation = { answers: createAccessAnswers(context, authorizer), left: { cost: COST_PER_REQUEST } };
      for await (const meant of bound.meant(attributes)) {
        const seen = await inVersion(attributes, meant.seenAs, registry);
        for (const decision of await decide(meant, seen, evaluation))
          act(decision, meant.policy, meant.binding, attributes);
      }
    },
  };

  async function decide(
    { policy, code, binding, space }: MeantPolicy<Policy, CompiledPolicy>,
    seen: SeenRequest,
    evaluation: RequestEvaluation,
  ): Promise<readonly Decision[]> {
    const isStrict = policy.spec?.failurePolicy !== "Ignore";
    const { attributes } = seen;
    const { context } = attributes;
    try {
      const decisions: Decision[] = [];
      const all = await bound.paramsOf(policy, binding, attributes);
      context.weigh(all.reduce((sum, params) => sum + (params?.byteLength ?? 0), 0));
      for (const params of all) {
        await context.pause();
        decisions.push(
          ...(await evaluatePolicy(policy, code, seen, space, params?.decode(), { evaluation, annotateEvent })),
        );
      }
      return decisions;
    } catch (error) {
      if (!(error instanceof CelEvaluationError) && !(error instanceof CelLimitError)) throw error;
      return isStrict ? [{ message: error.message, reason: "Invalid" }] : [];
    }
  }
}

async function evaluatePolicy(
  policy: Policy,
  code: CompiledPolicy,
  seen: SeenRequest,
  space: KubeObject | undefined,
  params: KubeObject | undefined,
  { evaluation, annotateEvent }: { readonly evaluation: RequestEvaluation; readonly annotateEvent: AnnotateEvent },
): Promise<readonly Decision[]> {
  const evaluate = createEvaluate({ ...seen, params, space, variables: code.variables }, evaluation);
  const { context } = seen.attributes;
  for (const condition of code.matchConditions) if ((await evaluate(condition)) !== true) return [];
  const isStrict = policy.spec?.failurePolicy !== "Ignore";
  const decisions: Decision[] = [];
  for (const validation of code.validations) {
    const { message, messageExpression, reason } = validation;
    const text = validation.text.trim();
    try {
      if ((await evaluate(validation)) === true) continue;
      decisions.push({
        message:
          (await messageOf(messageExpression, evaluate)) ??
          (message === "" ? `failed expression: ${text}` : message.trim()),
        reason,
      });
    } catch (error) {
      if (!(error instanceof CelEvaluationError)) throw error;
      if (isStrict)
        decisions.push({ message: `expression '${text}' resulted in error: ${error.message}`, reason: "Invalid" });
    }
  }
  for (const annotation of code.auditAnnotations) {
    const { name } = annotation;
    const value = await evaluate(annotation);
    if (typeof value === "string" && value.trim() !== "")
      annotateEvent(context, policy.metadata.name ?? "", name, value.trim());
  }
  return decisions;
}

async function messageOf(expression: CompiledExpression | undefined, evaluate: Evaluate): Promise<string | undefined> {
  if (expression === undefined) return undefined;
  try {
    const value = await evaluate(expression);
    const text = typeof value === "string" ? value.trim() : "";
    return text === "" || text.includes("\n") ? undefined : text;
  } catch (error) {
    if (error instanceof CelEvaluationError) return undefined;
    throw error;
  }
}

function act(
  { message, reason }: Decision,
  { metadata }: Policy,
  binding: PolicyBinding,
  attributes: AdmissionAttributes,
): void {
  const actions = binding.spec?.validationActions ?? [];
  const [policy, name] = [metadata.name ?? "", binding.metadata.name ?? ""];
  if (actions.includes("Audit")) {
    const failure = [{ message, policy, binding: name, expressionIndex: 0, validationActions: [...actions] }];
    attributes.context.audit.annotate(VALIDATION_FAILURE, JSON.stringify(failure));
  }
  if (actions.includes("Warn")) {
    attributes.context.warnings.add(
      `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${name}': ${message}`,
    );
  }
  if (!actions.includes("Deny")) return;
  const why = `ValidatingAdmissionPolicy '${policy}' with binding '${name}' denied request: ${message}`;
  const forbidden = forbiddenByAdmission(attributes, why);
  if (!isApiError(forbidden)) throw forbidden;
  throw new ApiError({
    code: CODES[reason] ?? 422,
    reason: reason as ApiError["reason"],
    message: forbidden.message,
    details: { ...forbidden.details, causes: [{ message: why }] },
  });
}
