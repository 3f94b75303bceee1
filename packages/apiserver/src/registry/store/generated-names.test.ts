// What happens when chance gives names that are taken.

import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { afterEach, beforeEach, expect, it } from "vitest";
import { mastersAuthorizer } from "../../authorization/masters-authorizer.ts";
import { createWatchCache } from "../../cache/create-watch-cache.ts";
import { systemRuntime } from "../../runtime/system-runtime.ts";
import { createApiSurface } from "../../server/api-surface.ts";
import { createMemoryStorage } from "../../storage/memory/memory-storage.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import { createSuiteClient, type SuiteClient } from "../testing/suite-client.ts";
import { createContinueTokens } from "./continue-token.ts";

const gadgets: ResourceDefinition = {
  group: "example.com",
  version: "v1",
  kind: "Gadget",
  plural: "gadgets",
  singular: "gadget",
  namespaced: false,
  schema: kindSchema(s.object({ spec: s.anyObject() }).schema),
};

/** The same bytes again and again, and others once it was asked for them more than `changesAfter` times. */
let changesAfter: number;
let calls: number;
const random = {
  bytes(length: number): Uint8Array {
    calls++;
    return new Uint8Array(length).fill(calls > changesAfter ? 7 : 0);
  },
};

let close: () => Promise<void>;
let client: SuiteClient;
beforeEach(async () => {
  changesAfter = Number.POSITIVE_INFINITY;
  calls = 0;
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const surface = createApiSurface({
    composition: "test",
    storage,
    cache,
    runtime: { ...systemRuntime, random },
    continueTokens: createContinueTokens(),
    authorizer: mastersAuthorizer,
    resources: [gadgets],
    onHookError: (error) => {
      throw error;
    },
  });
  client = createSuiteClient(surface.route, gadgets, "");
  close = async () => {
    await cache[Symbol.asyncDispose]();
    await storage[Symbol.asyncDispose]();
  };
});
afterEach(() => close());

const create = () =>
  client.send("POST", "", { apiVersion: "example.com/v1", kind: "Gadget", metadata: { generateName: "g-" } });

it("C-12 tries again with another name, and gives up with 409 that says when to come back", async () => {
  const first = await create();
  expect(first.status).toBe(201);
  const callsOfOne = calls;
  calls = 0;
  expect(await create()).toMatchObject({
    status: 409,
    json: {
      reason: "AlreadyExists",
      message: `gadgets.example.com "${first.json.metadata.name}" already exists, the server was not able to generate a unique name for the object`,
      details: { name: first.json.metadata.name, retryAfterSeconds: 1 },
    },
  });
  // The first name and those after it; a uid is made for each object, too.
  expect(calls).toBeGreaterThanOrEqual(8);
  changesAfter = calls + callsOfOne;
  const third = await create();
  expect(third.status).toBe(201);
  expect(third.json.metadata.name).not.toBe(first.json.metadata.name);
});
