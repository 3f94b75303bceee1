// How a store ends, and what is there when it is opened again.

import { describe, expect, test } from "vitest";
import { RevisionCompactedError, StorageUnavailableError } from "../storage-errors.ts";
import { caseName, ROOT, type SuiteContext } from "./storage-suite.ts";
import { WatchRecorder } from "./watch-recorder.ts";

export function describeLifecycle(context: SuiteContext): void {
  const { value, skip } = context;
  const key = `${ROOT}a`;

  describe("lifecycle", () => {
    test("after it has closed every call rejects with StorageUnavailableError", async () => {
      const { storage } = context;
      const revision = await storage.create(key, value("one"));
      await storage[Symbol.asyncDispose]();
      const calls = [
        () => storage.get(key),
        () => storage.list(ROOT),
        () => storage.create(`${ROOT}b`, value("two")),
        () => storage.update(key, value("two"), revision),
        () => storage.delete(key, revision),
        () => storage.currentRevision(),
        () => storage.compact(revision),
      ];
      for (const call of calls) await expect(call()).rejects.toBeInstanceOf(StorageUnavailableError);
    });

    test("closing twice is closing once", async () => {
      await Promise.all([context.storage[Symbol.asyncDispose](), context.storage[Symbol.asyncDispose]()]);
      await context.storage[Symbol.asyncDispose]();
    });

    test.skipIf(skip.watchErrors)(
      caseName("closing ends every watch with StorageUnavailableError", skip.watchErrors),
      async () => {
        await context.storage.create(key, value("one"));
        const watches = [1, 2, 5].map((from) => WatchRecorder.start(context.storage, ROOT, from));
        await context.storage[Symbol.asyncDispose]();
        for (const watch of watches) expect(await watch.ended()).toBeInstanceOf(StorageUnavailableError);
      },
    );

    test.skipIf(skip.watchErrors)(
      caseName("a watch on a closed store ends with StorageUnavailableError", skip.watchErrors),
      async () => {
        await context.storage[Symbol.asyncDispose]();
        expect(await WatchRecorder.start(context.storage, ROOT, context.start).ended()).toBeInstanceOf(
          StorageUnavailableError,
        );
      },
    );

    test("writes started before closing either settle or reject, and watches received those that settled", async () => {
      using watch = WatchRecorder.start(context.storage, ROOT, context.start);
      await watch.reached(await context.storage.create(key, value("one")));
      const writes = Array.from({ length: 20 }, (_, index) => context.storage.create(`${ROOT}${index}`, value("x")));
      const closing = context.storage[Symbol.asyncDispose]();
      for (const outcome of await Promise.allSettled(writes)) {
        if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(StorageUnavailableError);
        else expect(watch.revisions.at(-1)).toBeGreaterThanOrEqual(outcome.value);
      }
      await closing;
    });

    test("writes, deletions and compactions survive closing and opening the store", async ({ skip: skipHere }) => {
      const { fixture, storage } = context;
      if (fixture.reopen === undefined) return skipHere("nothing outlives the store");
      const a = await storage.create(key, value("one"));
      const b = await storage.create(`${ROOT}b`, value("two"));
      const updated = await storage.update(key, value("three"), a);
      await storage.compact(updated);
      const newest = await storage.delete(`${ROOT}b`, b);
      const before = await storage.list(ROOT);
      await storage[Symbol.asyncDispose]();

      await using again = await fixture.reopen();
      expect(await again.currentRevision()).toBe(newest);
      expect(await again.list(ROOT)).toEqual(before);
      expect((await again.list(ROOT, { revision: updated })).entries).toHaveLength(2);
      await expect(again.list(ROOT, { revision: b })).rejects.toBeInstanceOf(RevisionCompactedError);
      using watch = WatchRecorder.start(again, ROOT, updated);
      const created = await again.create(`${ROOT}c`, value("four"));
      await watch.reached(created);
      expect(watch.log).toEqual([`delete ${ROOT}b@${newest}`, `put ${ROOT}c@${created}`]);
    });

    test("a revision is never given twice, even when the newest one was a deletion that has been compacted", async ({
      skip: skipHere,
    }) => {
      const { fixture, storage } = context;
      if (fixture.reopen === undefined) return skipHere("nothing outlives the store");
      const newest = await storage.delete(key, await storage.create(key, value("one")));
      await storage.compact(newest);
      await storage[Symbol.asyncDispose]();
      await using again = await fixture.reopen();
      expect(await again.currentRevision()).toBe(newest);
      expect(await again.create(key, value("two"))).toBeGreaterThan(newest);
    });
  });
}
