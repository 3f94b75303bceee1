// Resources in a store in memory, behind the router that a handler chain calls, for tests.

import { mastersAuthorizer } from "../authorization/masters-authorizer.ts";
import { createWatchCache } from "../cache/create-watch-cache.ts";
import { DEFAULT_LIMITS } from "../endpoints/endpoint-context.ts";
import { createEventLines } from "../endpoints/handlers/event-lines.ts";
import { createListSegments } from "../endpoints/negotiation/list-segments.ts";
import { createResourceRouter } from "../endpoints/resource-router.ts";
import { admissionChain } from "../registry/admission-plugin.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import { createResourceRegistry } from "../registry/resource-registry.ts";
import { createContinueTokens } from "../registry/store/continue-token.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";

export type ServedResources = Awaited<ReturnType<typeof serveResources>>;

/** A fault of a hook fails the test run. */
export async function serveResources(definitions: readonly ResourceDefinition[], runtime = systemRuntime) {
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const registry = createResourceRegistry({
    composition: "test",
    storage,
    cache,
    admission: admissionChain([]),
    continueTokens: createContinueTokens(Buffer.from("key")),
    runtime,
    onHookError: (error) => {
      throw error;
    },
  });
  for (const definition of definitions) registry.install(definition);
  const handler = createResourceRouter(registry, {
    runtime,
    authorizer: mastersAuthorizer,
    limits: DEFAULT_LIMITS,
    eventLines: createEventLines(),
    listSegments: createListSegments(),
  });
  return {
    storage,
    cache,
    registry,
    handler,
    async [Symbol.asyncDispose]() {
      await cache[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}
