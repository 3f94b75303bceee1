// An API surface in memory that serves a resource under test beside the built-in kinds.

import type { TokenAuthenticator } from "@postern/apiserver/authentication/token-authenticator";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createStandardSurface } from "../server/standard-surface.ts";

export type SuiteSurface = AsyncDisposable & {
  /** Answers an authorized request. */
  readonly route: Handler;
};

const NO_TOKENS: TokenAuthenticator = { authenticateToken: () => undefined };

/** Namespaces, RBAC and the controllers are there, as on a bare cluster. Faults of hooks and controllers fail the test run. */
export async function openSuiteSurface(resources: readonly ResourceDefinition[] = []): Promise<SuiteSurface> {
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const fail = (error: unknown): never => {
    throw error;
  };
  const surface = createStandardSurface({
    composition: "suite",
    storage,
    cache,
    runtime: systemRuntime,
    continueTokens: createContinueTokens(),
    tokens: NO_TOKENS,
    audiences: [],
    resources,
    onHookError: fail,
    onControllerError: fail,
  });
  await surface.bootstrap(new AbortController().signal);
  return {
    route: surface.route,
    async [Symbol.asyncDispose]() {
      surface[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}
