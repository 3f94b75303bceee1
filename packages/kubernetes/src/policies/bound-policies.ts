// The policies of one kind that have bindings, and which of them mean a request.
// Source: k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { NamespaceLookup } from "@postern/apiserver/admission/namespace-lifecycle";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { Revision } from "@postern/apiserver/storage/storage";
import { CelEvaluationError } from "@postern/cel/cel-value";
import { matchingVersion } from "./equivalent-versions.ts";
import { type CompiledMatch, compileMatch } from "./match-resources.ts";
import type { PolicyBinding, PolicySpec } from "./validating-admission-policy.ts";

export type BoundPolicyDeps = {
  readonly policies: InstalledResource;
  readonly bindings: InstalledResource;
  readonly registry: Pick<ResourceRegistry, "resources">;
  readonly namespaces: NamespaceLookup;
};

export type PolicyAdmissionDeps = BoundPolicyDeps & {
  /** Answers what expressions ask of `authorizer`. */
  readonly authorizer: Authorizer;
};

/** Members that policies of all kinds have. */
type AnyPolicy = Pick<KubeObject, "metadata"> & {
  readonly spec?: Pick<PolicySpec, "paramKind" | "matchConstraints">;
};

/** A binding of a policy, both of which mean the request. */
export type MeantPolicy<P, C> = {
  readonly policy: P;
  readonly code: C;
  readonly binding: PolicyBinding;
  /** The namespace of the request. */
  readonly space: KubeObject | undefined;
  /** The version in which the policy sees the object. */
  readonly seenAs: ResourceDefinition;
};

/** Checking one policy costs as much as parsing this many bytes. */
const BYTES_OF_BINDING = 1_024;

type CompiledBinding = { readonly binding: PolicyBinding; readonly match: CompiledMatch | undefined };
/** By the name of the policy, in the order of their first bindings. */
type BindingsByPolicy = ReadonlyMap<string, readonly CompiledBinding[]>;

export type BoundPolicies<P, C> = {
  /** True where nothing is bound. */
  isEmpty(): boolean;
  meant(attributes: AdmissionAttributes): AsyncGenerator<MeantPolicy<P, C>>;
  /** The binding applies to each of them; undefined for a policy without params. Rejects with CelEvaluationError if required params are missing. */
  paramsOf(
    policy: P,
    binding: PolicyBinding,
    attributes: AdmissionAttributes,
  ): Promise<readonly (CachedObject | undefined)[]>;
};

/** `compile` is called once for each revision of a policy. */
export function createBoundPolicies<P extends AnyPolicy, C>(
  { policies, bindings, registry, namespaces }: BoundPolicyDeps,
  compile: (policy: P) => Steps<C>,
): BoundPolicies<P, C> {
  /** By key, as of a revision. */
  const compiled = new Map<
    string,
    { readonly revision: number; readonly policy: P; readonly match: CompiledMatch | undefined; readonly code: C }
  >();

  const read = new WeakMap<CachedObject, CompiledBinding>();
  let bound: { readonly revision: Revision; readonly byPolicy: BindingsByPolicy } | undefined;

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
  function boundPolicies(): BindingsByPolicy {
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
    const policy = found.decode() as unknown as P;
    const code = await context.inParts(compile(policy));
    const constraints = policy.spec?.matchConstraints;
    const match = constraints === undefined ? undefined : compileMatch(constraints);
    const made = { revision: found.revision, policy, match, code };
    compiled.set(key, made);
    return made;
  }

  async function* meant(attributes: AdmissionAttributes): AsyncGenerator<MeantPolicy<P, C>> {
    const { context, namespace } = attributes;
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
      const seenAs = matchingVersion(found.match, attributes, space, registry);
      if (seenAs === undefined) continue;
      context.weigh(ofPolicy.length * BYTES_OF_BINDING);
      for (const { binding, match } of ofPolicy) {
        await context.pause();
        if (matchingVersion(match, attributes, space, registry) === undefined) continue;
        yield { policy, code, binding, space, seenAs };
      }
    }
  }

  async function paramsOf(
    { spec }: P,
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
  return { isEmpty: () => bindings.view.size === 0, meant, paramsOf };
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
  const parsed = selectorFromLabelSelector(selector);
  return ({ labels }) => parsed.matches(labels);
}
