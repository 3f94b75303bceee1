// Memory that the cache holds while objects come and go.

import { expect, test } from "vitest";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";
import { createWatchCache } from "./create-watch-cache.ts";
import { manualScheduler, start, VIEW, value } from "./testing/watch-cache-fixture.ts";
import type { CacheView } from "./watch-cache.ts";

const TEXT = { text: "x".repeat(400) };
const STAYS_EVERY = 20;

/** Of all objects, and of the memory that they lie in. */
function measure(view: CacheView): { readonly bytes: number; readonly held: number } {
  const objects = view.list(VIEW);
  const bytes = objects.reduce((sum, { storedBytes }) => sum + storedBytes, 0);
  const held = [...new Set(objects.map(({ memory }) => memory))].reduce((sum, { length }) => sum + length, 0);
  return { bytes, held };
}

test("objects that stay among those that come and go hold little more memory than they have bytes", async () => {
  const storage = createMemoryStorage();
  const { cache, view } = await start({ storage });
  await using _ = cache;
  for (let number = 0; number < 6_000; number++) {
    const revision = await storage.create(`${VIEW}o${number}`, value(`o${number}`, TEXT));
    if (number % STAYS_EVERY !== 0) await storage.delete(`${VIEW}o${number}`, revision);
  }
  const { bytes, held } = measure(view);
  expect(view.size).toBe(6_000 / STAYS_EVERY);
  expect(held).toBeLessThan(3 * bytes);
  expect(view.get(`${VIEW}o40`)?.decode()).toMatchObject({ metadata: { name: "o40", labels: TEXT } });
});

test("the pages that were loaded are let go when most of their objects have gone", async () => {
  const storage = createMemoryStorage();
  const revisions: number[] = [];
  for (let number = 0; number < 2_000; number++)
    revisions.push(await storage.create(`${VIEW}o${number}`, value(`o${number}`, TEXT)));
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: manualScheduler() });
  await cache.ready();
  const view = cache.view(VIEW);
  for (const [number, revision] of revisions.entries()) {
    if (number % STAYS_EVERY !== 0) await storage.delete(`${VIEW}o${number}`, revision);
  }
  const { bytes, held } = measure(view);
  expect(held).toBeLessThan(3 * bytes + (64 << 10));
});
