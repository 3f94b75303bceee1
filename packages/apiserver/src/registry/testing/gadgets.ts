// The smallest resource there can be, on a surface of its own over a store in memory.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { mastersAuthorizer } from "../../authorization/masters-authorizer.ts";
import { createWatchCache } from "../../cache/create-watch-cache.ts";
import type { Random } from "../../runtime/clock.ts";
import { systemRuntime } from "../../runtime/system-runtime.ts";
import { createApiSurface } from "../../server/api-surface.ts";
import { createMemoryStorage } from "../../storage/memory/memory-storage.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { createContinueTokens } from "../store/continue-token.ts";
import { createSuiteClient, type SuiteClient } from "./suite-client.ts";

export const gadgets: ResourceDefinition = {
  group: "example.com",
  version: "v1",
  kind: "Gadget",
  plural: "gadgets",
  singular: "gadget",
  namespaced: false,
  schema: kindSchema(s.object({ spec: s.anyObject() }).schema),
};

export type GadgetOptions = {
  readonly random?: Random;
  /** Of the store. */
  readonly maxValueBytes?: number;
};

export type Gadgets = AsyncDisposable & { readonly client: SuiteClient };

export async function serveGadgets({ random, maxValueBytes }: GadgetOptions = {}): Promise<Gadgets> {
  const storage = createMemoryStorage(maxValueBytes === undefined ? {} : { maxValueBytes });
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const surface = createApiSurface({
    composition: "test",
    storage,
    cache,
    runtime: { ...systemRuntime, ...(random === undefined ? {} : { random }) },
    continueTokens: createContinueTokens(),
    authorizer: mastersAuthorizer,
    resources: [gadgets],
    onHookError: (error) => {
      throw error;
    },
  });
  return {
    client: createSuiteClient(surface.route, gadgets, ""),
    async [Symbol.asyncDispose]() {
      await cache[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}

export const gadget = (metadata: JsonObject): JsonObject => ({
  apiVersion: "example.com/v1",
  kind: "Gadget",
  metadata,
});
