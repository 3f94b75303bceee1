import { notFoundFieldError } from "@postern/apimachinery/validation/field-error";
import { expect, it } from "vitest";
import { mastersAuthorizer } from "../authorization/masters-authorizer.ts";
import { encodeStoredValue } from "../cache/cached-object.ts";
import { createWatchCache } from "../cache/create-watch-cache.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import { createContinueTokens } from "../registry/store/continue-token.ts";
import { gadgets } from "../registry/testing/gadgets.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";
import { createTestContext } from "../testing/test-context.ts";
import { createApiSurface } from "./api-surface.ts";

const KEY = "/registry/test/example.com/gadgets/first";

it("decides about a write on all that another thread has answered before it", async () => {
  const storage = createMemoryStorage();
  const { watch } = storage;
  // Events of another thread come in a later turn of the event loop than the newest revision, which is in shared memory.
  storage.watch = (prefix, from, observer) =>
    watch.call(storage, prefix, from, {
      ...observer,
      events: (events, revision) => void setImmediate(() => setImmediate(() => observer.events(events, revision))),
    });
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const dependents: ResourceDefinition = {
    ...gadgets,
    strategy: {
      validate: () =>
        cache.view("/registry/test/example.com/gadgets/").get(KEY) === undefined
          ? [notFoundFieldError("spec.of", "first")]
          : [],
    },
  };
  const surface = createApiSurface({
    composition: "test",
    storage,
    cache,
    runtime: systemRuntime,
    continueTokens: createContinueTokens(),
    authorizer: mastersAuthorizer,
    resources: [dependents],
    onHookError: (error) => {
      throw error;
    },
  });
  const object = { apiVersion: "example.com/v1", kind: "Gadget" };
  await storage.create(KEY, encodeStoredValue({ ...object, metadata: { name: "first", uid: "u" } }));
  const body = { ...object, metadata: { name: "second" }, spec: { of: "first" } };
  const headers = { "content-type": "application/json" };
  const context = createTestContext({ method: "POST", url: "/apis/example.com/v1/gadgets", headers, body });
  expect((await surface.route(context)).status).toBe(201);
});
