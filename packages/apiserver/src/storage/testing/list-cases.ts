// Behaviour of list in any store: order, pages, and states of the past.

import { describe, expect, test } from "vitest";
import type { ListResult } from "../storage.ts";
import { FutureRevisionError, RevisionCompactedError } from "../storage-errors.ts";
import { ROOT, type SuiteContext } from "./storage-suite.ts";

export function describeLists(context: SuiteContext): void {
  const { value } = context;
  const createAll = async (...names: string[]) => {
    for (const name of names) await context.storage.create(`${ROOT}${name}`, value(name));
  };

  describe("lists", () => {
    test("an empty prefix range lists nothing, at the newest revision", async () => {
      expect(await context.storage.list(ROOT)).toEqual({ entries: [], revision: context.start, remaining: 0 });
    });

    test("entries come in the byte order of their keys", async () => {
      await createAll("b", "a/z", "a-b", "a", "ab", "a.b", "B", "\u00e9", "\uffee", "\u{1f600}");
      expect(names(await context.storage.list(ROOT))).toEqual([
        ...["B", "a", "a-b", "a.b", "a/z", "ab", "b", "\u00e9", "\uffee", "\u{1f600}"],
      ]);
    });

    test("a prefix that ends in a slash takes nothing of its longer neighbours", async () => {
      await createAll("a/1", "ab/1", "a-b/1", "a0/1", "a/2", "a");
      expect(names(await context.storage.list(`${ROOT}a/`))).toEqual(["a/1", "a/2"]);
      expect(names(await context.storage.list(`${ROOT}a`))).toEqual(["a", "a-b/1", "a/1", "a/2", "a0/1", "ab/1"]);
    });

    test("% and _ in a prefix are matched literally", async () => {
      await createAll("a%/1", "a_/1", "ab/1", "a%_/1");
      expect(names(await context.storage.list(`${ROOT}a%/`))).toEqual(["a%/1"]);
      expect(names(await context.storage.list(`${ROOT}a_/`))).toEqual(["a_/1"]);
    });

    test("a deleted key is not listed", async () => {
      await createAll("a", "b");
      const [first] = (await context.storage.list(ROOT)).entries;
      await context.storage.delete(first!.key, first!.revision);
      expect(names(await context.storage.list(ROOT))).toEqual(["b"]);
    });

    test("limit cuts the list, and remaining counts what was cut off", async () => {
      await createAll("a", "b", "c", "d", "e");
      const page = await context.storage.list(ROOT, { limit: 2 });
      expect(names(page)).toEqual(["a", "b"]);
      expect(page.remaining).toBe(3);
      expect(await context.storage.list(ROOT, { limit: 5 })).toMatchObject({ remaining: 0 });
      expect(await context.storage.list(ROOT, { limit: 6 })).toMatchObject({ remaining: 0 });
    });

    test("remaining distinguishes none from some, when only existence is asked for", async () => {
      await createAll("a", "b", "c");
      expect((await context.storage.list(ROOT, { limit: 1, remaining: "any" })).remaining).toBeGreaterThan(0);
      expect((await context.storage.list(ROOT, { limit: 3, remaining: "any" })).remaining).toBe(0);
    });

    test("startAfter begins behind a key, whether it exists or not", async () => {
      await createAll("a", "b", "c", "d");
      expect(names(await context.storage.list(ROOT, { startAfter: `${ROOT}b` }))).toEqual(["c", "d"]);
      expect(names(await context.storage.list(ROOT, { startAfter: `${ROOT}bb` }))).toEqual(["c", "d"]);
      expect(names(await context.storage.list(ROOT, { startAfter: "/a" }))).toEqual(["a", "b", "c", "d"]);
      expect(names(await context.storage.list(ROOT, { startAfter: "/z" }))).toEqual([]);
      const page = await context.storage.list(ROOT, { startAfter: `${ROOT}a`, limit: 1 });
      expect(page).toMatchObject({ remaining: 2 });
      expect(names(page)).toEqual(["b"]);
    });

    test("a list at a revision shows the state of then, whatever was written since", async () => {
      await createAll("changed", "deleted", "kept");
      const then = await context.storage.list(ROOT);
      const [changed, deleted] = then.entries;
      await context.storage.update(changed!.key, value("later"), changed!.revision);
      await context.storage.delete(deleted!.key, deleted!.revision);
      await createAll("added", "deleted");
      expect(await context.storage.list(ROOT, { revision: then.revision })).toEqual(then);
      expect(names(await context.storage.list(ROOT))).toEqual(["added", "changed", "deleted", "kept"]);
    });

    test("pages at one revision make up one consistent list while writes go on", async () => {
      const all = Array.from({ length: 25 }, (_, index) => `n${String(index).padStart(2, "0")}`);
      await createAll(...all);
      const pages: ListResult[] = [await context.storage.list(ROOT, { limit: 10 })];
      while (pages.at(-1)!.remaining > 0) {
        const last = pages.at(-1)!;
        const victim = (await context.storage.list(ROOT)).entries.at(-1)!;
        await context.storage.delete(victim.key, victim.revision);
        await createAll(`m${pages.length}`, `z${pages.length}`);
        pages.push(
          await context.storage.list(ROOT, {
            limit: 10,
            startAfter: last.entries.at(-1)!.key,
            revision: last.revision,
          }),
        );
      }
      expect(pages.flatMap(names)).toEqual(all);
      expect(pages.map((page) => page.remaining)).toEqual([15, 5, 0]);
      expect(new Set(pages.map((page) => page.revision)).size).toBe(1);
    });

    test("a list at a revision that is still to come rejects with FutureRevisionError, which carries the newest", async () => {
      await createAll("a");
      const current = await context.storage.currentRevision();
      const error = await context.storage.list(ROOT, { revision: current + 1 }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(FutureRevisionError);
      expect((error as FutureRevisionError).current).toBe(current);
    });

    test("after a compaction older lists reject with RevisionCompactedError, newer ones are as before", async () => {
      await createAll("a", "b", "c", "d");
      const { entries, revision } = await context.storage.list(ROOT);
      await context.storage.delete(entries[0]!.key, entries[0]!.revision);
      const compacted = await context.storage.update(entries[1]!.key, value("later"), entries[1]!.revision);
      const atCompaction = await context.storage.list(ROOT);
      await context.storage.delete(entries[2]!.key, entries[2]!.revision);
      await context.storage.compact(compacted);

      const error = await context.storage.list(ROOT, { revision }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RevisionCompactedError);
      expect((error as RevisionCompactedError).oldest).toBe(compacted);
      expect(await context.storage.list(ROOT, { revision: compacted })).toEqual(atCompaction);
      expect(names(await context.storage.list(ROOT))).toEqual(["b", "d"]);
    });

    test("compaction up to the newest revision loses no newest value and lets no revision come again", async () => {
      await createAll("a", "b");
      const { entries } = await context.storage.list(ROOT);
      const newest = await context.storage.delete(entries[1]!.key, entries[1]!.revision);
      await context.storage.compact(newest);
      await context.storage.compact(newest);
      expect((await context.storage.list(ROOT)).entries).toEqual(entries.slice(0, 1));
      const again = await context.storage.create(`${ROOT}b`, value("again"));
      expect(again).toBeGreaterThan(newest);
      await expect(context.storage.compact(again + 1_000)).rejects.toBeInstanceOf(FutureRevisionError);
    });

    test("a compaction up to a revision older than the last one changes nothing", async () => {
      await createAll("a", "b", "c");
      const newest = await context.storage.currentRevision();
      await context.storage.compact(newest);
      await context.storage.compact(newest - 1);
      await expect(context.storage.list(ROOT, { revision: newest - 1 })).rejects.toBeInstanceOf(RevisionCompactedError);
    });

    test("an aborted read rejects with the reason of its signal", async () => {
      const reason = new Error("the client has gone");
      const signal = AbortSignal.abort(reason);
      await expect(context.storage.list(ROOT, { signal })).rejects.toBe(reason);
      await expect(context.storage.get(`${ROOT}a`, { signal })).rejects.toBe(reason);
    });
  });
}

function names(list: ListResult): string[] {
  return list.entries.map((entry) => entry.key.slice(ROOT.length));
}
