// Behaviour of create, update, delete and get in any store.

import { describe, expect, test } from "vitest";
import { KeyExistsError, RevisionConflictError, ValueTooLargeError } from "../storage-errors.ts";
import { caseName, ROOT, type SuiteContext } from "./storage-suite.ts";

export function describeWrites(context: SuiteContext): void {
  const { value, skip } = context;
  const key = `${ROOT}a`;

  describe("writes", () => {
    test("an empty store is at revision 1", async () => {
      expect(await context.storage.currentRevision()).toBe(1);
      expect(await context.storage.get(key)).toBeUndefined();
    });

    test("create stores the value under the revision it resolves with", async () => {
      const revision = await context.storage.create(key, value("one"));
      expect(revision).toBeGreaterThan(1);
      expect(await context.storage.get(key)).toEqual({ key, value: bytes(value("one")), revision });
      expect(await context.storage.currentRevision()).toBe(revision);
    });

    test("the event of a write has the content that its writer gave, if any, and history has none", async () => {
      const { storage } = context;
      const contentAfter = (revision: number): Promise<unknown> =>
        new Promise((resolve, reject) => {
          const watch = storage.watch(ROOT, revision, {
            events([event]) {
              if (event === undefined) return;
              watch[Symbol.dispose]();
              resolve(event.type === "put" ? event.content : event);
            },
            error: reject,
          });
        });
      const writes = [
        (content: unknown) => storage.create(key, value("one"), content),
        async (content: unknown) => storage.update(key, value("two"), await storage.currentRevision(), content),
      ];
      for (const write of writes) {
        const content = { of: "it" };
        const from = await storage.currentRevision();
        const told = contentAfter(from);
        await write(content);
        expect([content, undefined]).toContain(await told);
        expect(await contentAfter(from)).toBeUndefined();
      }
    });

    test("create rejects an existing key with KeyExistsError, which carries the stored entry", async () => {
      const revision = await context.storage.create(key, value("one"));
      const error = await context.storage.create(key, value("two")).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(KeyExistsError);
      expect(error).toMatchObject({ key, current: { revision } });
      expect((await context.storage.get(key))?.value).toEqual(bytes(value("one")));
    });

    test("update replaces the value when the revision is the expected one", async () => {
      const first = await context.storage.create(key, value("one"));
      const second = await context.storage.update(key, value("two"), first);
      expect(second).toBeGreaterThan(first);
      expect(await context.storage.get(key)).toEqual({ key, value: bytes(value("two")), revision: second });
    });

    test("update rejects with RevisionConflictError and the current entry after a write in between", async () => {
      const first = await context.storage.create(key, value("one"));
      const second = await context.storage.update(key, value("two"), first);
      const error = await context.storage.update(key, value("three"), first).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RevisionConflictError);
      expect((error as RevisionConflictError).current).toEqual({ key, value: bytes(value("two")), revision: second });
      expect((await context.storage.get(key))?.revision).toBe(second);
    });

    test("update and delete of an absent key reject with RevisionConflictError without a current entry", async () => {
      const { storage } = context;
      for (const attempt of [
        () => storage.update(key, value("one"), context.start),
        () => storage.delete(key, context.start),
      ]) {
        const error = await attempt().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(RevisionConflictError);
        expect((error as RevisionConflictError).current).toBeUndefined();
      }
    });

    test("delete removes the key at a new revision", async () => {
      const first = await context.storage.create(key, value("one"));
      const deleted = await context.storage.delete(key, first);
      expect(deleted).toBeGreaterThan(first);
      expect(await context.storage.get(key)).toBeUndefined();
      expect(await context.storage.currentRevision()).toBe(deleted);
    });

    test("delete rejects with RevisionConflictError and removes nothing when the revision is not the expected one", async () => {
      const first = await context.storage.create(key, value("one"));
      const second = await context.storage.update(key, value("two"), first);
      const error = await context.storage.delete(key, first).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RevisionConflictError);
      expect((error as RevisionConflictError).current?.revision).toBe(second);
      expect(await context.storage.get(key)).toBeDefined();
    });

    test("a deleted key can be created again, and an update that knew it from before is refused", async () => {
      const first = await context.storage.create(key, value("one"));
      const deleted = await context.storage.delete(key, first);
      const again = await context.storage.create(key, value("two"));
      expect(again).toBeGreaterThan(deleted);
      for (const stale of [first, deleted]) {
        await expect(context.storage.update(key, value("three"), stale)).rejects.toBeInstanceOf(RevisionConflictError);
      }
    });

    test("a refused write takes no revision", async () => {
      const first = await context.storage.create(key, value("one"));
      await context.storage.create(key, value("two")).catch(() => {});
      await context.storage.update(key, value("two"), first + 7).catch(() => {});
      expect(await context.storage.currentRevision()).toBe(first);
    });

    test("of many updates of one revision at once exactly one wins", async () => {
      const first = await context.storage.create(key, value("one"));
      const attempts = Array.from({ length: 50 }, (_, index) =>
        context.storage.update(key, value(`writer ${index}`), first),
      );
      const outcomes = await Promise.allSettled(attempts);
      const won = outcomes.flatMap((outcome, index) => (outcome.status === "fulfilled" ? [index] : []));
      expect(won).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(RevisionConflictError);
      }
      expect((await context.storage.get(key))?.value).toEqual(bytes(value(`writer ${won[0]}`)));
    });

    test("of many creates of one key at once exactly one wins", async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 50 }, (_, index) => context.storage.create(key, value(`writer ${index}`))),
      );
      expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(KeyExistsError);
      }
    });

    test("writers that retry on conflict lose no increment", async () => {
      const count = (entry: Uint8Array) => Number(/count-(\d+)/.exec(Buffer.from(entry).toString())?.[1]);
      await context.storage.create(key, value("count-0"));
      const increment = async () => {
        for (;;) {
          const entry = (await context.storage.get(key))!;
          const next = value(`count-${count(entry.value) + 1}`);
          const done = await context.storage.update(key, next, entry.revision).then(
            () => true,
            (reason: unknown) => {
              if (!(reason instanceof RevisionConflictError)) throw reason;
              return false;
            },
          );
          if (done) return;
        }
      };
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let round = 0; round < 10; round++) await increment();
        }),
      );
      expect(count((await context.storage.get(key))!.value)).toBe(80);
    });

    test("writes made at once get distinct revisions", async () => {
      const before = await context.storage.currentRevision();
      const revisions = await Promise.all(
        Array.from({ length: 100 }, (_, index) => context.storage.create(`${ROOT}${index}`, value("x"))),
      );
      expect(new Set(revisions).size).toBe(100);
      expect(Math.min(...revisions)).toBeGreaterThan(before);
    });

    test("a get or list sees every write that settled before it started", async () => {
      for (let round = 0; round < 20; round++) {
        const revision = await context.storage.create(`${ROOT}${round}`, value("x"));
        const [entry, list] = await Promise.all([context.storage.get(`${ROOT}${round}`), context.storage.list(ROOT)]);
        expect(entry?.revision).toBe(revision);
        expect(list.entries.some((listed) => listed.revision === revision)).toBe(true);
      }
    });

    test.skipIf(skip.opaqueValues)(caseName("keeps any bytes, none at all among them", skip.opaqueValues), async () => {
      const values = [
        Uint8Array.of(),
        Uint8Array.from({ length: 256 }, (_, byte) => byte),
        Uint8Array.of(0, 0xff, 0xfe, 0),
      ];
      for (const [index, content] of values.entries()) {
        await context.storage.create(`${ROOT}${index}`, content);
        expect((await context.storage.get(`${ROOT}${index}`))?.value).toEqual(bytes(content));
      }
      expect((await context.storage.list(ROOT)).entries.map((entry) => entry.value)).toEqual(values.map(bytes));
    });

    test.skipIf(skip.opaqueValues)(
      caseName("takes a view into a larger buffer for what it shows", skip.opaqueValues),
      async () => {
        const whole = Buffer.from("before|value|after");
        await context.storage.create(key, whole.subarray(7, 12));
        expect((await context.storage.get(key))?.value).toEqual(bytes(Buffer.from("value")));
        expect(whole.toString()).toBe("before|value|after");
      },
    );

    test.skipIf(skip.opaqueValues)(caseName("keeps a value of a megabyte exactly", skip.opaqueValues), async () => {
      const large = Uint8Array.from({ length: 1 << 20 }, (_, index) => (index * 31) & 0xff);
      await context.storage.create(key, large);
      expect(Buffer.compare((await context.storage.get(key))!.value, large)).toBe(0);
    });

    test("refuses a value that is too large with ValueTooLargeError, and writes nothing", async () => {
      await expect(context.storage.create(key, new Uint8Array(16 << 20))).rejects.toBeInstanceOf(ValueTooLargeError);
      expect(await context.storage.currentRevision()).toBe(context.start);
    });
  });
}

/** A plain Uint8Array of the same content, for comparing: Buffers are not equal to them otherwise. */
function bytes(content: Uint8Array): Uint8Array {
  return expect.toSatisfy((other: Uint8Array) => Buffer.compare(other, content) === 0) as unknown as Uint8Array;
}
