// What tells who owns which field must not be what makes an object too large to be stored.

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

/** Enough for the labels below, not for them and for who owns them. */
const MAX_VALUE_BYTES = 1_500;
const MERGE = { contentType: "application/merge-patch+json" };
const APPLY = { contentType: "application/apply-patch+yaml" };
const labels = Object.fromEntries(Array.from({ length: 50 }, (_none, n) => [`label-${n}`, "x"]));

let close: () => Promise<void>;
let client: SuiteClient;
beforeEach(async () => {
  const storage = createMemoryStorage({ maxValueBytes: MAX_VALUE_BYTES });
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const surface = createApiSurface({
    composition: "test",
    storage,
    cache,
    runtime: systemRuntime,
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

const gadget = (name: string, metadata = {}) => ({
  apiVersion: "example.com/v1",
  kind: "Gadget",
  metadata: { name, ...metadata },
});

it("S-25 an object that is too large is created without its managed fields", async () => {
  const { status, json } = await client.send("POST", "", gadget("a", { labels }));
  expect({ status, labels: json.metadata.labels }).toEqual({ status: 201, labels });
  expect(json.metadata).not.toHaveProperty("managedFields");
});

it("S-25 an object that is too large is changed without its managed fields", async () => {
  await client.send("POST", "", gadget("a", { labels: { a: "b" } }));
  const { status, json } = await client.send("PATCH", "/a", { metadata: { labels } }, MERGE);
  expect(status).toBe(200);
  expect(json.metadata).not.toHaveProperty("managedFields");
});

it("S-25 an object that is too large is refused where managed fields are the point: in an apply", async () => {
  await client.send("POST", "", gadget("a", { labels: { a: "b" } }));
  const { status } = await client.send("PATCH", "/a?fieldManager=m", gadget("a", { labels }), APPLY);
  expect(status).toBe(413);
});

it("S-25 an object is refused when it is too large by itself", async () => {
  const annotations = { a: "x".repeat(MAX_VALUE_BYTES) };
  expect(await client.send("POST", "", gadget("a", { annotations }))).toMatchObject({
    status: 413,
    json: { reason: "RequestEntityTooLarge" },
  });
});
