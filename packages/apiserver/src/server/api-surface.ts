// One API surface: a set of resources under a storage prefix, with discovery, OpenAPI and routes. A process may have many; they share no state.

import type { DescriptionsOf } from "@postern/apimachinery/schema/openapi/openapi-v3";
import type { Authorizer } from "../authorization/authorizer.ts";
import type { WatchCache } from "../cache/watch-cache.ts";
import { pageNotFound } from "../chain/page-not-found.ts";
import type { ServedInfo } from "../chain/request-state.ts";
import type { Handler, RequestContext } from "../context/request-context.ts";
import { createDiscoveryRouter } from "../endpoints/discovery/discovery-router.ts";
import { DEFAULT_LIMITS, type EndpointLimits, type WatchMetrics } from "../endpoints/endpoint-context.ts";
import { createEventLines } from "../endpoints/handlers/event-lines.ts";
import { createListSegments } from "../endpoints/negotiation/list-segments.ts";
import { createResourceRouter, servesResource } from "../endpoints/resource-router.ts";
import type { AdmissionPlugin } from "../registry/admission-plugin.ts";
import { admissionChain } from "../registry/admission-plugin.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import { createResourceRegistry, type ResourceRegistry } from "../registry/resource-registry.ts";
import type { ContinueTokens } from "../registry/store/continue-token.ts";
import type { ConversionMemory } from "../registry/store/converted-object-budget.ts";
import type { LimitLocks } from "../registry/store/limit-locks.ts";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { Runtime } from "../runtime/clock.ts";
import type { Storage } from "../storage/storage.ts";
import type { ApiResponse } from "../transport/api-response.ts";

export type ApiSurfaceDeps = {
  /** Names the part of the store that holds this surface's objects; no slash. */
  readonly composition: string;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly runtime: Runtime;
  readonly continueTokens: ContinueTokens;
  readonly resources: readonly ResourceDefinition[];
  /** The authorizer of the handler chain: asked again by requests that turn out to do more than their verb says. */
  readonly authorizer: Authorizer;
  /** Checks that look at other resources are made once those are there. */
  readonly admission?: (registry: ResourceRegistry) => readonly AdmissionPlugin[];
  /** Paths beside the API, such as `/healthz`: undefined where it is not one of them. */
  readonly nonResource?: (context: RequestContext) => Awaitable<ApiResponse> | undefined;
  /** The paths that `nonResource` answers, for the list at `/`. */
  readonly nonResourcePaths?: readonly string[];
  /** Title and version of this API in OpenAPI documents. */
  readonly info?: { readonly title: string; readonly version: string };
  /** Descriptions of types in OpenAPI documents, in place of those of their schemas. */
  readonly descriptions?: DescriptionsOf;
  readonly limits?: Partial<EndpointLimits>;
  readonly watchMetrics?: WatchMetrics;
  /** Takes faults of hooks that run after a write. */
  readonly onHookError: (error: unknown) => void;
  /** Room for objects that are kept in converted form. Absent: as much as a cluster may store. */
  readonly conversionMemory?: ConversionMemory | undefined;
  /** Locks that all threads which serve these resources share. Absent: this thread alone serves them. */
  readonly limitLocks?: LimitLocks | undefined;
};

export type ApiSurface = {
  readonly registry: ResourceRegistry;
  /** Answers an authorized request. */
  readonly route: Handler;
  /** Whether a request names an existing resource or subresource. */
  readonly serves: (info: ServedInfo) => boolean;
};

export function createApiSurface(deps: ApiSurfaceDeps): ApiSurface {
  const { composition, storage, cache, runtime, continueTokens, onHookError, nonResource, limits, watchMetrics } = deps;
  let plugins = admissionChain([]);
  const registry = createResourceRegistry({
    composition,
    storage,
    cache,
    runtime,
    continueTokens,
    onHookError,
    conversionMemory: deps.conversionMemory,
    limitLocks: deps.limitLocks,
    admission: {
      admit: (attributes) => plugins.admit(attributes),
      validate: (attributes) => plugins.validate(attributes),
    },
  });
  for (const definition of deps.resources) registry.install(definition);
  plugins = admissionChain(deps.admission?.(registry) ?? []);

  const discovery = createDiscoveryRouter({
    resources: () => registry.definitions,
    revision: () => registry.revision,
    otherPaths: deps.nonResourcePaths ?? [],
    ...(deps.info === undefined ? {} : { info: deps.info }),
    ...(deps.descriptions === undefined ? {} : { descriptions: deps.descriptions }),
  });
  const endpoint = {
    runtime,
    authorizer: deps.authorizer,
    limits: { ...DEFAULT_LIMITS, ...limits },
    eventLines: createEventLines(),
    listSegments: createListSegments(),
    ...(watchMetrics === undefined ? {} : { metrics: watchMetrics }),
  };
  const otherwise: Handler = (context) =>
    whenDone(nonResource?.(context) ?? discovery(context), (response) => response ?? pageNotFound());
  return {
    registry,
    route: createResourceRouter(registry, endpoint, otherwise),
    serves: servesResource(registry),
  };
}
