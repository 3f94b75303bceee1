// Behaviour of watch in any store: from the past, from now, from the future, and until when.

import { describe, expect, test } from "vitest";
import type { Revision, StorageEvent } from "../storage.ts";
import { RevisionCompactedError } from "../storage-errors.ts";
import { caseName, ROOT, type SuiteContext } from "./storage-suite.ts";
import { WatchRecorder } from "./watch-recorder.ts";

export function describeWatches(context: SuiteContext): void {
  const { value, skip } = context;
  const create = (name: string) => context.storage.create(`${ROOT}${name}`, value(name));

  describe("watches", () => {
    test("a watch from now sends every later change, and nothing earlier", async () => {
      await create("a");
      using watch = WatchRecorder.start(context.storage, ROOT, await context.storage.currentRevision());
      const b = await create("b");
      const c = await create("c");
      await watch.reached(c);
      expect(watch.log).toEqual([`put ${ROOT}b@${b}`, `put ${ROOT}c@${c}`]);
    });

    test("a watch from the past sends what has happened since, then continues", async () => {
      const a = await create("a");
      const b = await create("b");
      using watch = WatchRecorder.start(context.storage, ROOT, a);
      const c = await create("c");
      await watch.reached(c);
      const d = await create("d");
      await watch.reached(d);
      expect(watch.log).toEqual([b, c, d].map((revision, index) => `put ${ROOT}${"bcd"[index]}@${revision}`));
    });

    test("a watch from the future stays silent until then", async () => {
      const from = (await context.storage.currentRevision()) + 2;
      using watch = WatchRecorder.start(context.storage, ROOT, from);
      const revisions: Revision[] = [];
      for (const name of ["a", "b", "c", "d"]) revisions.push(await create(name));
      await watch.reached(revisions.at(-1)!);
      const later = revisions.flatMap((revision, index) =>
        revision > from ? [`put ${ROOT}${"abcd"[index]}@${revision}`] : [],
      );
      expect(watch.log).toEqual(later);
    });

    test("no observer is called before watch has returned", async () => {
      await create("a");
      let returned = false;
      const told = new Promise<boolean>((resolve) => {
        context.storage.watch(ROOT, context.start, { events: () => resolve(returned), error: () => resolve(false) });
        returned = true;
      });
      expect(await told).toBe(true);
    });

    test("events carry the entry and the one before", async () => {
      using watch = WatchRecorder.start(context.storage, ROOT, context.start);
      const key = `${ROOT}a`;
      const created = await context.storage.create(key, value("one"));
      const updated = await context.storage.update(key, value("two"), created);
      const deleted = await context.storage.delete(key, updated);
      const again = await context.storage.create(key, value("three"));
      await watch.reached(again);
      expect(watch.events.map(plain)).toEqual(
        [
          { type: "put", entry: { key, value: value("one"), revision: created }, previous: undefined },
          {
            type: "put",
            entry: { key, value: value("two"), revision: updated },
            previous: { key, value: value("one"), revision: created },
          },
          { type: "delete", key, revision: deleted, previous: { key, value: value("two"), revision: updated } },
          { type: "put", entry: { key, value: value("three"), revision: again }, previous: undefined },
        ].map((event) => plain(event as StorageEvent)),
      );
    });

    test("replayed history equals the live events", async () => {
      using live = WatchRecorder.start(context.storage, ROOT, context.start);
      const key = `${ROOT}a`;
      for (let round = 0; round < 3; round++) {
        const created = await context.storage.create(key, value(`created ${round}`));
        await context.storage.delete(key, await context.storage.update(key, value(`updated ${round}`), created));
      }
      await live.reached(await context.storage.currentRevision());
      using replayed = WatchRecorder.start(context.storage, ROOT, context.start);
      await replayed.reached(await context.storage.currentRevision());
      expect(live.events).toHaveLength(9);
      expect(replayed.events.map(plain)).toEqual(live.events.map(plain));
    });

    test("a watch sends only changes under its prefix", async () => {
      using watch = WatchRecorder.start(context.storage, `${ROOT}a/`, context.start);
      await create("ab/1");
      const inside = await create("a/1");
      await create("a");
      const last = await create("a/2");
      await create("b");
      await watch.reached(last);
      expect(watch.log).toEqual([`put ${ROOT}a/1@${inside}`, `put ${ROOT}a/2@${last}`]);
    });

    test("a watch learns that revisions passed which changed nothing under its prefix", async () => {
      using watch = WatchRecorder.start(context.storage, `${ROOT}a/`, await context.storage.currentRevision());
      await watch.reached(await create("b"));
      expect(watch.log).toEqual([]);
    });

    test("an observer is notified before the write settles", async () => {
      using watch = WatchRecorder.start(context.storage, ROOT, await context.storage.currentRevision());
      for (let round = 0; round < 20; round++) {
        const revision = await create(`${round}`);
        expect(watch.log.at(-1)).toBe(`put ${ROOT}${round}@${revision}`);
      }
    });

    test("every one of many watches gets every event, in order", async () => {
      const watches = Array.from({ length: 50 }, () => WatchRecorder.start(context.storage, ROOT, context.start));
      const revisions = await Promise.all(Array.from({ length: 40 }, (_, index) => create(`${index}`)));
      for (const watch of watches) {
        await watch.reached(Math.max(...revisions));
        expect(watch.log).toEqual(watches[0]!.log);
        expect(watch.log).toHaveLength(40);
        watch[Symbol.dispose]();
      }
    });

    test("a disposed watch gets nothing more", async () => {
      const watch = WatchRecorder.start(context.storage, ROOT, context.start);
      const first = await create("a");
      await watch.reached(first);
      watch[Symbol.dispose]();
      watch[Symbol.dispose]();
      using other = WatchRecorder.start(context.storage, ROOT, context.start);
      await other.reached(await create("b"));
      expect(watch.log).toEqual([`put ${ROOT}a@${first}`]);
      expect(watch.error).toBeUndefined();
    });

    test("a watch disposed before its first call is never called", async () => {
      await create("a");
      const watch = WatchRecorder.start(context.storage, ROOT, context.start);
      watch[Symbol.dispose]();
      using other = WatchRecorder.start(context.storage, ROOT, context.start);
      await other.reached(await context.storage.currentRevision());
      expect(watch.log).toEqual([]);
    });

    test("an observer may write and watch: everybody still gets one order", async () => {
      let echo: Promise<Revision> | undefined;
      const first = context.storage.watch(ROOT, context.start, {
        events: (events) => {
          if (events.length > 0) echo ??= create("echo");
        },
        error: () => {},
      });
      using second = WatchRecorder.start(context.storage, ROOT, context.start);
      const a = await create("a");
      await second.until(() => second.events.length === 2);
      expect(second.log).toEqual([`put ${ROOT}a@${a}`, `put ${ROOT}echo@${await echo}`]);
      first[Symbol.dispose]();
    });

    test.skipIf(skip.watchErrors)(
      caseName("a watch from a compacted revision ends with RevisionCompactedError", skip.watchErrors),
      async () => {
        for (const name of ["a", "b", "c", "d"]) await create(name);
        const current = await context.storage.currentRevision();
        await context.storage.compact(current);
        using watch = WatchRecorder.start(context.storage, ROOT, current - 2);
        const error = await watch.ended();
        expect(error).toBeInstanceOf(RevisionCompactedError);
        expect((error as RevisionCompactedError).oldest).toBe(current);
        expect(watch.log).toEqual([]);
      },
    );

    test("a watch from the revision of the compaction misses nothing", async () => {
      await create("a");
      const compacted = await create("b");
      const later = await create("c");
      await context.storage.compact(compacted);
      using watch = WatchRecorder.start(context.storage, ROOT, compacted);
      await watch.reached(later);
      expect(watch.log).toEqual([`put ${ROOT}c@${later}`]);
    });

    test("a compaction does not disturb a watch that has seen what is dropped", async () => {
      using watch = WatchRecorder.start(context.storage, ROOT, context.start);
      const first = await create("a");
      await watch.reached(first);
      await context.storage.compact(first);
      await watch.reached(await create("b"));
      expect(watch.events).toHaveLength(2);
      expect(watch.error).toBeUndefined();
    });
  });
}

function plain(event: StorageEvent): unknown {
  const text = (entry: { value: Uint8Array; revision: Revision; key: string } | undefined) =>
    entry && `${entry.key}@${entry.revision}=${Buffer.from(entry.value).toString()}`;
  return event.type === "put"
    ? [event.type, text(event.entry), text(event.previous)]
    : [event.type, event.key, event.revision, text(event.previous)];
}
