import type { Steps } from "@postern/apimachinery/steps/steps";
import { expect, it } from "vitest";
import { start, VIEW, value } from "../../../cache/testing/watch-cache-fixture.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { createMemoryStorage } from "../../../storage/memory/memory-storage.ts";
import type { StoreContext } from "../store-context.ts";
import { listObjects } from "./list-objects.ts";

it("selects in steps, and shows the state at its beginning, whatever is written between them", async () => {
  const storage = createMemoryStorage();
  const { cache, view } = await start({ storage });
  const keyOf = (at: number): string => `${VIEW}g${String(at).padStart(4, "0")}`;
  const revisions: number[] = [];
  for (let at = 0; at < 200; at++) revisions.push(await storage.create(keyOf(at), value(`g${at}`)));
  await cache.waitFor?.(await storage.currentRevision());
  const expected = view.list(VIEW).map(({ key, revision }) => `${key}@${revision}`);
  const revision = view.revision;

  let steps = 0;
  const context = {
    async inParts<T>(work: Steps<T>): Promise<T> {
      for (;;) {
        const { done, value: result } = work.next();
        if (done === true) return result;
        // One behind the place that has been looked at, and a new one.
        const behind = 199 - steps;
        await storage.delete(keyOf(behind), revisions[behind] ?? 0);
        await storage.create(keyOf(1_000 + steps), value("new"));
        await cache.waitFor?.(await storage.currentRevision());
        steps++;
      }
    },
  } as unknown as RequestContext;
  const store = { definition: { namespaced: false }, keys: { inNamespace: () => VIEW }, view, cache } as never;
  const query = { namespace: "", resourceVersion: "0", resourceVersionMatch: "", continue: "", limit: 0 };
  const page = await listObjects(store as StoreContext, context, { ...query, visible: () => true } as never);
  expect(page.items.map(({ key, revision: at }) => `${key}@${at}`)).toEqual(expected);
  expect(page.resourceVersion).toBe(String(revision));
  expect(steps).toBeGreaterThanOrEqual(200 / 10);
  await cache[Symbol.asyncDispose]();
});
