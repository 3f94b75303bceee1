// Events of access keys as they are stored.

import { admissionChain } from "@postern/apiserver/admission/admission-plugin";
import { events } from "@postern/apiserver/builtin/core/events";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { keyEvent } from "../resources/owned-access-keys/key-events.ts";
import { createKeyEventRecorder } from "./access-key-events.ts";

it("keeps an Event about the key, and drops it quietly where it cannot", async () => {
  await using storage = createMemoryStorage();
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const registry = createResourceRegistry({
    composition: "test",
    storage,
    cache,
    admission: admissionChain([]),
    continueTokens: createContinueTokens(Buffer.from("key")),
    runtime: systemRuntime,
    onHookError: () => {},
  });
  const resource = registry.install(events);
  const errors: unknown[] = [];
  const record = createKeyEventRecorder({
    runtime: systemRuntime,
    events: () => resource,
    component: "postern",
    onError: (error) => errors.push(error),
    signal: new AbortController().signal,
  });
  const stored = new Promise<void>((resolve) => {
    resource.view.subscribe(resource.keys.prefix, cache.revision, { events: () => resolve(), error: () => {} });
  });
  const key = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: "k", uid: "u" } };
  record(keyEvent(key, "Disabled"));
  await stored;
  const [event] = resource.view.list(resource.keys.prefix);
  expect(event?.decode()).toMatchObject({
    metadata: { namespace: "default", name: expect.stringMatching(/^k\.[a-z0-9]{10}$/) },
    involvedObject: { ...key.metadata, apiVersion: key.apiVersion, kind: key.kind },
    reason: "Disabled",
    type: "Normal",
    source: { component: "postern" },
  });
  expect(errors).toEqual([]);
});
