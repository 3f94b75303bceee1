// The management API: the kinds of all features on one API surface.

import { MANAGEMENT } from "@postern/api/platform-names";
import { createNamespaceLifecycle } from "@postern/apiserver/admission/namespace-lifecycle";
import { createOwnerReferencesAdmission } from "@postern/apiserver/admission/owner-references";
import type { AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { fixedConversionMemory } from "@postern/apiserver/registry/store/converted-object-budget";
import { type ApiSurface, createApiSurface } from "@postern/apiserver/server/api-surface";
import { publishedDescriptions } from "@postern/kubernetes/builtin/published/published-descriptions";
import { createDefinitionLimit } from "@postern/kubernetes/custom-resources/definition-limit";
import { namespaceLookup } from "@postern/kubernetes/server/standard-surface";
import type { Authorization } from "../features/authorization/feature.ts";
import type { Budgets } from "../features/budgets/feature.ts";
import type { MemoryBudgets } from "../features/budgets/memory-limit.ts";
import { createCustomResources } from "../features/custom-resources/feature.ts";
import type { Foundation } from "../foundation/foundation.ts";
import { withTextLimits } from "../foundation/kinds/text-limits.ts";
import { SERVED_VERSION } from "../foundation/served-version.ts";
import type { Probes } from "./probes.ts";

export type ManagementApi = ApiSurface & Disposable;

export type ManagementApiNeeds = {
  /** In the order of discovery. */
  readonly kinds: readonly ResourceDefinition[];
  readonly admission: readonly AdmissionPlugin[];
  /** Undefined: there are none. */
  readonly probes: Probes | undefined;
  readonly authorization: Authorization;
  readonly budgets: Budgets;
  readonly memory: MemoryBudgets;
  readonly continueTokens: ContinueTokens;
};

/** Of the memory for what the platform stores, as much again is for custom resources that are kept as they are shown. */
const CONVERTED_PART = 8;

export function createManagementApi(base: Foundation, needs: ManagementApiNeeds): ManagementApi {
  const { names, cache, runtime, metrics, limitLocks, onError } = base;
  const { authorizer } = needs.authorization;
  // Limits that upstream does not have are left out.
  const ours = [names.managementGroup, names.storageGroup];
  const kinds = needs.kinds.map((kind) => (ours.includes(kind.group) ? withTextLimits(kind) : kind));
  const customResources = createCustomResources(base, kinds);
  const surface = createApiSurface({
    composition: MANAGEMENT,
    storage: needs.budgets.management.storage,
    conversionMemory: fixedConversionMemory(needs.memory.platformBytes / CONVERTED_PART),
    cache,
    runtime,
    limitLocks,
    continueTokens: needs.continueTokens,
    authorizer,
    resources: [...kinds, customResources.definitions],
    admission: (registry) => [
      createNamespaceLifecycle({ namespaces: namespaceLookup(registry, runtime.clock) }),
      createOwnerReferencesAdmission({
        authorizer,
        findKind: (group, kind) => registry.findKind(group, kind)?.definition,
      }),
      createDefinitionLimit(registry),
      ...needs.admission,
    ],
    ...needs.probes,
    // Kubernetes has none for the members of JSONSchemaProps.
    descriptions: (type) => (type.endsWith(".JSONSchemaProps") ? undefined : publishedDescriptions(type)),
    info: { title: "Postern", version: SERVED_VERSION.gitVersion },
    watchMetrics: {
      watchEvent: ({ definition: { group, version, plural } }) => metrics.watchEvent(group, version, plural),
      watchTerminated: ({ definition: { group, plural } }, scope) => metrics.watchTerminated(group, plural, scope),
    },
    onHookError: (error) => onError(error, "hook"),
  });
  const serving = customResources.serve(surface.registry);
  return { ...surface, [Symbol.dispose]: () => serving[Symbol.dispose]() };
}
