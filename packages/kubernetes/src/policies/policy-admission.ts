// Enforces ValidatingAdmissionPolicies that have bindings.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/validating/{dispatcher,validator}.go

import { ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import type { NamespaceLookup } from "@postern/apiserver/admission/namespace-lifecycle";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { systemUser } from "@postern/apiserver/context/system-context";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { Revision } from "@postern/apiserver/storage/storage";
import { CelLimitError } from "@postern/cel/cel-budget";
import { CelEvaluationError } from "@postern/cel/cel-value";
import { type CompiledPolicy, compilePolicy } from "./compiled-policy.ts";
import { type SeenRequest, seenIn, versionMeant } from "./equivalent-versions.ts";
import {
  COST_PER_REQUEST,
  createEvaluate,
  type Evaluate,
  type RequestEvaluation,
  type SourcedExpression,
} from "./evaluate-expression.ts";
import { createAccessAnswers } from "./expression-scope.ts";
import { type CompiledMatch, compileMatch } from "./match-resources.ts";
import { ADMISSION_GROUP, type Policy, type PolicyBinding } from "./validating-admission-policy.ts";

export type PolicyAdmissionDeps = {
  readonly policies: InstalledResource;
  readonly bindings: InstalledResource;
  readonly registry: Pick<ResourceRegistry, "resources">;
  readonly namespaces: NamespaceLookup;
  /** Answers what expressions ask of `authorizer`. */
  readonly authorizer: Authorizer;
};

/** Checking one policy costs as much as parsing this many bytes. */
const BYTES_OF_BINDING = 1_024;
const VALIDATION_FAILURE = "validation.policy.admission.k8s.io/validation_failure";
const CODES: { readonly [reason: string]: number } = {
  Unauthorized: 401,
  Forbidden: 403,
  Invalid: 422,
  RequestEntityTooLarge: 413,
};

type CompiledBinding = { readonly binding: PolicyBinding; readonly match: CompiledMatch | undefined };
/** By the name of the policy, in the order of their first bindings. */
type BoundPolicies = ReadonlyMap<string, readonly CompiledBinding[]>;

type Decision = { readonly message: string; readonly reason: string };

/** Costs nothing but two look-ups where nothing is bound. */
export function createPolicyAdmission({
  policies,
  bindings,
  registry,
  namespaces,
  authorizer,
}: PolicyAdmissionDeps): AdmissionPlugin {
  /** By key, as of a revision. */
  const compiled = new Map<
    string,
    {
      readonly revision: number;
      readonly policy: Policy;
      readonly match: CompiledMatch | undefined;
      readonly code: CompiledPolicy;
    }
  >();

  const read = new WeakMap<CachedObject, CompiledBinding>();
  let bound: { readonly revision: Revision; readonly byPolicy: BoundPolicies } | undefined;

  function bindingOf(cached: CachedObject): CompiledBinding {
    const known = read.get(cached);
    if (known !== undefined) return known;
    const binding = cached.decode() as PolicyBinding;
    const match = binding.spec?.matchResources;
    const made = { binding, match: match === undefined ? undefined : compileMatch(match) };
    read.set(cached, made);
    return made;
  }

  /** Built after a change of bindings: each policy is matched once per request. */
  function boundPolicies(): BoundPolicies {
    const revision = bindings.view.changedRevision;
    if (bound?.revision === revision) return bound.byPolicy;
    const byPolicy = new Map<string, CompiledBinding[]>();
    for (const cached of bindings.view.list(bindings.keys.prefix)) {
      const made = bindingOf(cached);
      const name = made.binding.spec?.policyName ?? "";
      const known = byPolicy.get(name);
      if (known === undefined) byPolicy.set(name, [made]);
      else known.push(made);
    }
    bound = { revision, byPolicy };
    return byPolicy;
  }

  async function policyNamed(name: string, context: RequestContext) {
    const key = policies.keys.of("", name);
    const found = policies.view.get(key);
    if (found === undefined) {
      compiled.delete(key);
      return undefined;
    }
    const known = compiled.get(key);
    if (known?.revision === found.revision) return known;
    // Stored objects have passed the schema of their kind, here and below.
    context.weigh(found.byteLength);
    await context.pause();
    const policy = found.decode() as Policy;
    const { compiled: code } = await context.inParts(compilePolicy(policy));
    const constraints = policy.spec?.matchConstraints;
    const match = constraints === undefined ? undefined : compileMatch(constraints);
    const made = { revision: found.revision, policy, match, code };
    compiled.set(key, made);
    return made;
  }

  return {
    name: "ValidatingAdmissionPolicy",

    async validate(attributes) {
      const { resource, context, namespace } = attributes;
      if (bindings.view.size === 0 || resource.group === ADMISSION_GROUP || context.user === systemUser) return;
      const evaluation = { answers: createAccessAnswers(context, authorizer), left: { cost: COST_PER_REQUEST } };
      const byPolicy = boundPolicies();
      context.weigh(byPolicy.size * BYTES_OF_BINDING);
      let space: KubeObject | undefined;
      let isSpaceKnown = namespace === "";
      for (const [name, ofPolicy] of byPolicy) {
        await context.pause();
        const found = await policyNamed(name, context);
        if (found === undefined) continue;
        if (!isSpaceKnown) {
          space = namespaces.cached(namespace) ?? (await namespaces.live(namespace, context.signal));
          isSpaceKnown = true;
        }
        const { policy, code } = found;
        const seenAs = versionMeant(found.match, attributes, space, registry);
        if (seenAs === undefined) continue;
        context.weigh(ofPolicy.length * BYTES_OF_BINDING);
        for (const { binding, match } of ofPolicy) {
          await context.pause();
          if (versionMeant(match, attributes, space, registry) === undefined) continue;
          const seen = await seenIn(attributes, seenAs, registry);
          for (const decision of await decide(policy, code, binding, seen, space, evaluation))
            act(decision, policy, binding, attributes);
        }
      }
    },
  };

  async function decide(
    policy: Policy,
    code: CompiledPolicy,
    binding: PolicyBinding,
    seen: SeenRequest,
    space: KubeObject | undefined,
    evaluation: RequestEvaluation,
  ): Promise<readonly Decision[]> {
    const isStrict = policy.spec?.failurePolicy !== "Ignore";
    const { attributes } = seen;
    const { context } = attributes;
    try {
      const decisions: Decision[] = [];
      const all = await paramsOf(policy, binding, attributes);
      context.weigh(all.reduce((sum, params) => sum + (params?.byteLength ?? 0), 0));
      for (const params of all) {
        await context.pause();
        decisions.push(...(await evaluatePolicy(policy, code, seen, space, params?.decode(), evaluation)));
      }
      return decisions;
    } catch (error) {
      if (!(error instanceof CelEvaluationError) && !(error instanceof CelLimitError)) throw error;
      return isStrict ? [{ message: error.message, reason: "Invalid" }] : [];
    }
  }

  /** The binding applies to each of them; undefined for a policy without params. Throws if required params are missing. */
  async function paramsOf(
    { spec }: Policy,
    { spec: bound }: PolicyBinding,
    { namespace, context }: AdmissionAttributes,
  ): Promise<readonly (CachedObject | undefined)[]> {
    const { paramKind } = spec ?? {};
    const ref = bound?.paramRef;
    if (paramKind === undefined) return [undefined];
    const { group, version } = parseApiVersion(paramKind.apiVersion ?? "") ?? { group: "", version: "" };
    const resource = registry.resources.find(
      ({ definition }) =>
        definition.group === group && definition.version === version && definition.kind === paramKind.kind,
    );
    if (resource === undefined)
      throw new CelEvaluationError(
        `failed to configure policy: failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${paramKind.kind}'`,
      );
    if (ref === undefined) return [undefined];
    const { view, keys, definition } = resource;
    const where = definition.namespaced ? (ref.namespace ?? namespace) : "";
    const candidates =
      ref.name === undefined
        ? view.list(keys.inNamespace(where))
        : [view.get(keys.of(where, ref.name))].filter((object) => object !== undefined);
    const shown = await shownParams(resource, candidates, context);
    const found = ref.name === undefined ? shown.filter(selects(ref.selector)) : shown;
    if (found.length > 0) return found;
    if (ref.parameterNotFoundAction === "Allow") return [];
    throw new CelEvaluationError(
      "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    );
  }
}

/** In the version of the policy. Upstream asks informers, which have no object if a conversion fails: the failure policy decides then, as here. */
async function shownParams(
  { conversion }: InstalledResource,
  candidates: readonly CachedObject[],
  context: RequestContext,
): Promise<readonly CachedObject[]> {
  if (conversion === undefined) return candidates;
  try {
    return await conversion.shown(candidates, context);
  } catch (error) {
    if (!isApiError(error) || context.signal.aborted) throw error;
    throw new CelEvaluationError(`failed to configure binding: ${error.message}`);
  }
}

function selects(selector: object | undefined): (object: CachedObject) => boolean {
  const parsed = selectorFromLabelSelector(selector as never);
  return ({ labels }) => parsed.matches(labels);
}

async function evaluatePolicy(
  policy: Policy,
  code: CompiledPolicy,
  seen: SeenRequest,
  space: KubeObject | undefined,
  params: KubeObject | undefined,
  evaluation: RequestEvaluation,
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
      context.audit.annotate(`${policy.metadata.name}/${name}`, value.trim());
  }
  return decisions;
}

async function messageOf(expression: SourcedExpression | undefined, evaluate: Evaluate): Promise<string | undefined> {
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
