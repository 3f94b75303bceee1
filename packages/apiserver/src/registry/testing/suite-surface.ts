// An API surface in memory that serves a resource under test beside the built-in kinds.

import type { TokenAuthenticator } from "../../authentication/token-authenticator.ts";
import { createWatchCache } from "../../cache/create-watch-cache.ts";
import type { Handler } from "../../context/request-context.ts";
import { systemRuntime } from "../../runtime/system-runtime.ts";
import { createStandardSurface } from "../../server/standard-surface.ts";
import { createMemoryStorage } from "../../storage/memory/memory-storage.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { createContinueTokens } from "../store/continue-token.ts";

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
