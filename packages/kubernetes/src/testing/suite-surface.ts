// An API surface in memory as a bare cluster serves it, beside which a resource under test may stand.

import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createStandardSurface } from "../server/standard-surface.ts";
import type { StandardSurfaceDeps } from "../server/standard-surface-options.ts";

export type SuiteSurface = AsyncDisposable & {
  /** Answers an authorized request. */
  readonly route: Handler;
};

export type BareCluster = SuiteSurface & {
  /** Of all kinds that are served. */
  readonly definitions: readonly ResourceDefinition[];
  /** Resolves when no controller has anything left to do. */
  settled(): Promise<void>;
};

/** Namespaces, RBAC and the controllers are there, as on a bare cluster. Faults of hooks and controllers fail the test run. */
export async function openSuiteSurface(
  resources: readonly ResourceDefinition[] = [],
  options: Pick<StandardSurfaceDeps, "customResources" | "cluster" | "serviceAccountKeys" | "nonResourcePaths"> = {},
): Promise<BareCluster> {
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const surface = createStandardSurface({
    composition: "suite",
    storage,
    cache,
    runtime: systemRuntime,
    continueTokens: createContinueTokens(),
    tokens: { authenticateToken: () => undefined },
    audiences: [],
    resources,
    ...options,
    onHookError: fail,
    onControllerError: fail,
  });
  await surface.bootstrap(new AbortController().signal);
  return {
    route: surface.route,
    definitions: surface.registry.definitions,
    async settled() {
      for (let round = 0; round < 3; round++) {
        await surface.idle();
        await cache.refresh();
      }
    },
    async [Symbol.asyncDispose]() {
      surface[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}

export function fail(error: unknown): never {
  throw error;
}
