// Changes objects as MutatingAdmissionPolicies that have bindings say.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/{mutating/dispatcher.go,generic/policy_dispatcher.go}

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { JsonPatchError, PatchDecodeError } from "@postern/apimachinery/patch/patch-errors";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { systemUser } from "@postern/apiserver/context/system-context";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import { CelLimitError, type CelMeter } from "@postern/cel/cel-budget";
import { CelEvaluationError } from "@postern/cel/cel-value";
import { createBoundPolicies, type MeantPolicy, type PolicyAdmissionDeps } from "../bound-policies.ts";
import { readChanged } from "../changed-object.ts";
import { inVersion, type SeenRequest } from "../equivalent-versions.ts";
import { COST_PER_REQUEST, createEvaluate, type Evaluate, type RequestEvaluation } from "../evaluate-expression.ts";
import { createAccessAnswers } from "../expression-scope.ts";
import { ADMISSION_GROUP } from "../validating-admission-policy.ts";
import { jsonOfValue } from "../value-json.ts";
import { applyConfiguration, applyOperations } from "./apply-mutation.ts";
import { type CompiledMutations, compileMutations, type Mutation, PATCH_TYPES } from "./compiled-mutations.ts";
import type { MutatingPolicy } from "./mutating-admission-policy.ts";

/** Where a policy cannot be asked at all, it gives no reason of its own. */
type Failure = { readonly message: string; readonly reason: "Invalid" | "Forbidden" };

/** One policy with one of its parameters. */
type Invocation = {
  readonly meant: MeantPolicy<MutatingPolicy, CompiledMutations>;
  readonly params: CachedObject | undefined;
};

/** Most policies, each with its parameters, that change one object. */
const MAX_INVOCATIONS = 100;

/** Costs nothing but two look-ups where nothing is bound. Upstream's order: before the webhooks that change objects. */
export function createMutationAdmission({ authorizer, ...deps }: PolicyAdmissionDeps): AdmissionPlugin {
  const { registry } = deps;
  const bound = createBoundPolicies<MutatingPolicy, CompiledMutations>(deps, function* (policy) {
    return (yield* compileMutations(policy)).compiled;
  });

  return {
    name: "MutatingAdmissionPolicy",

    async admit(attributes) {
      const { resource, context, operation, object } = attributes;
      if (bound.isEmpty() || resource.group === ADMISSION_GROUP || context.user === systemUser) return object;
      if (object === undefined || operation === "delete") return object;
      const failures: Failure[] = [];
      const evaluation = { answers: createAccessAnswers(context, authorizer), left: { cost: COST_PER_REQUEST } };
      const invocations = await invocationsFor(attributes, failures);
      const changed = await inRounds(invocations, attributes, evaluation, failures);
      if (failures.length > 0) throw refusal(attributes, failures);
      return changed;
    },
  };

  /** Chosen by the object as it came: a policy does not bring others in. */
  async function invocationsFor(attributes: AdmissionAttributes, failures: Failure[]): Promise<readonly Invocation[]> {
    const invocations: Invocation[] = [];
    for await (const meant of bound.meant(attributes)) {
      try {
        for (const params of await bound.paramsOf(meant.policy, meant.binding, attributes))
          invocations.push({ meant, params });
      } catch (error) {
        note(error, meant, failures, "Forbidden");
      }
      if (invocations.length > MAX_INVOCATIONS) {
        throw forbiddenByAdmission(
          attributes,
          `more than ${MAX_INVOCATIONS} mutating admission policies, each with its parameters, match the request`,
        );
      }
    }
    attributes.context.weigh(invocations.reduce((sum, { params }) => sum + (params?.byteLength ?? 0), 0));
    return invocations;
  }

  /** As with webhooks, a policy that wants that is asked once more after others have changed the object. */
  async function inRounds(
    invocations: readonly Invocation[],
    attributes: AdmissionAttributes,
    evaluation: RequestEvaluation,
    failures: Failure[],
  ): Promise<KubeObject | undefined> {
    let current = attributes;
    const asked = new Set<Invocation>();
    const again = new Set<Invocation>();
    const round = async (all: readonly Invocation[]): Promise<void> => {
      for (const invocation of all) {
        const { meant } = invocation;
        await current.context.pause();
        try {
          const seen = await inVersion(current, meant.seenAs, registry);
          const changed = await invoke(invocation, seen, current, evaluation, (error) => note(error, meant, failures));
          if (changed === undefined) continue;
          if (!equalJson(changed, current.object)) {
            for (const each of asked) again.add(each);
            asked.clear();
            current = { ...current, object: changed };
          }
          if (meant.policy.spec?.reinvocationPolicy === "IfNeeded") asked.add(invocation);
        } catch (error) {
          note(error, meant, failures);
        }
      }
    };
    await round(invocations);
    if (again.size > 0) await round(invocations.filter((invocation) => again.has(invocation)));
    return current.object;
  }

  /** Undefined where its conditions leave the request out. */
  async function invoke(
    { meant, params }: Invocation,
    seen: SeenRequest,
    current: AdmissionAttributes,
    evaluation: RequestEvaluation,
    fail: (error: unknown) => void,
  ): Promise<KubeObject | undefined> {
    const { code, space } = meant;
    let object = current.object;
    let shown = seen.attributes.object;
    const evaluateNow = (): Evaluate =>
      createEvaluate(
        {
          attributes: { ...seen.attributes, object: shown },
          seenAs: seen.seenAs,
          params: params?.decode(),
          space,
          variables: code.variables,
        },
        evaluation,
      );
    const conditions = evaluateNow();
    for (const condition of code.matchConditions) if ((await conditions(condition)) !== true) return undefined;
    for (const mutation of code.mutations) {
      if (object === undefined || shown === undefined) break;
      try {
        const patched = await mutate(mutation, shown, evaluateNow(), seen, spendOf(evaluation));
        if (patched === undefined) continue;
        const { seenAs, back } = seen;
        const changed = await readChanged(
          patched,
          { object: shown, seenAs, back },
          object,
          (why) => new CelEvaluationError(`the mutation ${why}`),
        );
        if (changed === undefined) continue;
        object = changed;
        shown = (await inVersion({ ...current, object }, seenAs, registry)).attributes.object;
      } catch (error) {
        fail(error);
      }
    }
    return object;
  }
}

/** Takes the cost of a patch from what all expressions for a request may have between them. */
const spendOf =
  ({ left }: RequestEvaluation): CelMeter["spend"] =>
  (cost) => {
    left.cost -= cost;
    if (left.cost < 0) throw new CelLimitError("operation cancelled: actual cost limit exceeded");
  };

/** Undefined where a test of its patch fails. */
async function mutate(
  mutation: Mutation,
  object: KubeObject,
  evaluate: Evaluate,
  { seenAs }: SeenRequest,
  spend: CelMeter["spend"],
) {
  const value = await evaluate(mutation).catch((error: unknown) => {
    if (!(error instanceof CelEvaluationError)) throw error;
    throw new CelEvaluationError(`expression '${mutation.text.trim()}' resulted in error: ${error.message}`);
  });
  if (mutation.patchType === "ApplyConfiguration") {
    return applyConfiguration(object, jsonOfValue(value, spend, PATCH_TYPES.ApplyConfiguration.type), seenAs);
  }
  const operations = jsonOfValue(value, spend);
  try {
    return applyOperations(object, operations);
  } catch (error) {
    if (error instanceof PatchDecodeError) throw new CelEvaluationError(`JSON Patch: ${error.message}`);
    if (!(error instanceof JsonPatchError)) throw error;
    if (/^testing value .* failed/.test(error.message)) return undefined;
    throw new CelEvaluationError(`JSON Patch: ${error.message}`);
  }
}

/** Throws what is not about the policy. */
function note(
  error: unknown,
  { policy, binding }: Invocation["meant"],
  failures: Failure[],
  reason: Failure["reason"] = "Invalid",
): void {
  if (!(error instanceof CelEvaluationError) && !(error instanceof CelLimitError)) throw error;
  if (policy.spec?.failurePolicy === "Ignore") return;
  const denied = `policy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request`;
  failures.push({ message: `${denied}: ${error.message}`, reason });
}

/** The first failure is the message, and all of them are causes. */
function refusal(attributes: AdmissionAttributes, failures: readonly Failure[]): ApiError {
  const { code, details } = forbiddenByAdmission(attributes, "");
  return new ApiError({
    code,
    reason: failures[0]?.reason ?? "Forbidden",
    message: failures[0]?.message ?? "",
    details: { ...details, causes: failures.map(({ message }) => ({ message })) },
  });
}
