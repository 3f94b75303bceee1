// Reads answer with the bytes that are kept: these tests count parsing and encoding per request, so that a regression is noticed.

import { setImmediate } from "node:timers/promises";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { CachedObject } from "../cache/cached-object.ts";
import { defineResource } from "../registry/resource-definition.ts";
import { type ServedResources, serveResources } from "../testing/serve-resources.ts";
import { createTestContext, type TestRequest } from "../testing/test-context.ts";
import type { ByteSink } from "../transport/api-response.ts";
import { createEventLines } from "./handlers/event-lines.ts";

const boats = defineResource({
  group: "harbour.test",
  version: "v1",
  kind: "Boat",
  plural: "boats",
  namespaced: false,
  schema: kindSchema(s.object({ spec: s.object({ owner: s.string() }) }).schema),
});
const COLLECTION = "/apis/harbour.test/v1/boats";
const BOATS = 20;

let served: ServedResources;
let decoded: MockInstance;
let parsed: MockInstance;
let encoded: MockInstance;

beforeEach(async () => {
  served = await serveResources([boats]);
  for (let index = 0; index < BOATS; index++) await send(create(index));
  decoded = vi.spyOn(CachedObject.prototype, "decode");
  parsed = vi.spyOn(JSON, "parse");
  encoded = vi.spyOn(JSON, "stringify");
});

afterEach(async () => {
  vi.restoreAllMocks();
  await served[Symbol.asyncDispose]();
});

const create = (index: number): TestRequest => ({
  method: "POST",
  url: COLLECTION,
  body: {
    apiVersion: "harbour.test/v1",
    kind: "Boat",
    metadata: { name: `b-${index}`, labels: { side: index % 2 === 0 ? "port" : "starboard" } },
    spec: { owner: "ada" },
  },
});

/** The request's own texts are made before anything is counted. */
async function send(request: TestRequest) {
  const context = createTestContext(request);
  vi.clearAllMocks();
  return await served.handler(context);
}

const counts = () => ({
  decoded: decoded.mock.calls.length,
  parsed: parsed.mock.calls.length,
  encoded: encoded.mock.calls.length,
});

describe("the JSON work of a request", () => {
  it("is nothing for a GET", async () => {
    const { body } = await send({ url: `${COLLECTION}/b-1` });
    expect(counts()).toEqual({ decoded: 0, parsed: 0, encoded: 0 });
    expect(body.type === "bytes" && Buffer.from(body.bytes as Uint8Array).toString()).toContain('"name":"b-1"');
  });

  it.each(["", "?limit=5", "?fieldSelector=metadata.name%3Db-3"])(
    "is the head of a LIST, and no object: %j",
    async (query) => {
      await send({ url: COLLECTION + query });
      const { encoded: heads, ...rest } = counts();
      expect(rest).toEqual({ decoded: 0, parsed: 0 });
      // One for the head, one for the continue token.
      expect(heads).toBeLessThanOrEqual(2);
    },
  );

  it("is one look at each object for the first LIST by label, and none for those after it", async () => {
    await send({ url: `${COLLECTION}?labelSelector=side%3Dport` });
    expect(counts().decoded).toBeLessThanOrEqual(BOATS);
    await send({ url: `${COLLECTION}?labelSelector=side%3Dstarboard` });
    expect(counts().decoded).toBe(0);
  });

  it("is one parse and one encoding of the object for a create, which is answered with what the cache keeps", async () => {
    await send(create(BOATS));
    expect(decoded).not.toHaveBeenCalled();
    expect(parsed.mock.calls.filter(([text]) => String(text).includes('"kind":"Boat"'))).toHaveLength(1);
    expect(encoded.mock.calls.filter(([value]) => value?.kind === "Boat")).toHaveLength(1);
  });

  it("is one parse of what is there for a patch, and none where it was written a moment ago", async () => {
    const patch = (owner: string) => ({
      method: "PATCH",
      url: `${COLLECTION}/b-1`,
      headers: { "content-type": "application/merge-patch+json" },
      body: { spec: { owner } },
    });
    // So many others come between, whose objects are remembered instead.
    for (let at = 0; at < 64; at++) await send(create(BOATS + 10 + at));
    await send(patch("alice"));
    expect(decoded.mock.calls).toHaveLength(1);
    await send(patch("bob"));
    expect(decoded).not.toHaveBeenCalled();
    expect(encoded.mock.calls.filter(([value]) => value?.kind === "Boat")).toHaveLength(1);
  });

  it("is nothing for the events of a watch: all watchers are given the same bytes", async () => {
    const controller = new AbortController();
    const received: unknown[][] = [];
    const ends: Promise<void>[] = [];
    for (let watcher = 0; watcher < 10; watcher++) {
      const { body } = await send({ url: `${COLLECTION}?watch=1&resourceVersion=${served.cache.revision}` });
      if (body.type !== "stream") throw new Error("not a stream");
      const lines: unknown[] = [];
      received.push(lines);
      const sink: ByteSink = { bufferedBytes: 0, write: (chunk) => lines.push(chunk) > 0 };
      ends.push(body.run(sink, controller.signal));
    }
    await setImmediate();
    await send(create(BOATS));
    await expect.poll(() => received.every((lines) => lines.length > 0)).toBe(true);
    // The write itself encodes its object once, and no watch does.
    expect(encoded.mock.calls.filter(([value]) => value?.kind === "Boat")).toHaveLength(1);
    expect(decoded).not.toHaveBeenCalled();
    expect(new Set(received.flat()).size).toBe(1);
    controller.abort();
    await Promise.all(ends);
  });

  it("is one line per event of a commit, for any number of watchers", () => {
    const value = Buffer.from('{"metadata":{}}');
    const objects = [1, 2, 3].map((revision) => CachedObject.fromEntry({ key: `b-${revision}`, revision, value }));
    const lines = createEventLines();
    const perWatcher = [1, 2].map(() => objects.map((object) => lines.plain("MODIFIED", object)));
    for (const [index, line] of (perWatcher[0] ?? []).entries()) expect(perWatcher[1]?.[index]).toBe(line);
    expect(Buffer.from(lines.plain("DELETED", objects[0]!)).toString()).toBe(
      `{"type":"DELETED","object":${Buffer.from(objects[0]!.bytes)}}\n`,
    );
  });

  it("is one line of a large object for all watches that hold it, however many others were made since", () => {
    const value = Buffer.from(JSON.stringify({ metadata: {}, text: "x".repeat(700_000) }));
    const objects = [1, 2, 3].map((revision) => CachedObject.fromEntry({ key: `b-${revision}`, revision, value }));
    const lines = createEventLines();
    const perWatcher = [1, 2].map(() => objects.map((object) => lines.plain("ADDED", object)));
    for (const [index, line] of (perWatcher[0] ?? []).entries()) expect(perWatcher[1]?.[index]).toBe(line);
    expect(lines.plain("DELETED", objects[0]!)).not.toBe(perWatcher[0]?.[0]);
  });
});
