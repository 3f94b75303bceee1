// One SQLite store that several threads use. The clients of these tests are in one thread: their messages are the same.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StorageEvent, WatchObserver } from "@postern/apiserver/storage/storage";
import {
  KeyExistsError,
  RevisionConflictError,
  StorageUnavailableError,
} from "@postern/apiserver/storage/storage-errors";
import { describeStorage } from "@postern/apiserver/storage/testing/storage-suite";
import { keyOf, revisionOf } from "@postern/apiserver/storage/watcher-set";
import { expect, it, onTestFinished } from "vitest";
import { joinSqliteStorage, openSqliteStorage, type SharedSqliteStorage } from "./sqlite-storage.ts";

async function openShared(): Promise<SharedSqliteStorage> {
  const folder = await mkdtemp(join(tmpdir(), "postern-shared-"));
  const storage = await openSqliteStorage({ path: join(folder, "store.db"), isShared: true });
  onTestFinished(async () => {
    await storage[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  return storage;
}

describeStorage("SQLite storage of another thread", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-shared-"));
  const path = join(folder, "store.db");
  let owner = await openSqliteStorage({ path, isShared: true });
  return {
    storage: await joinSqliteStorage(owner.connect()),
    async reopen() {
      await owner[Symbol.asyncDispose]();
      owner = await openSqliteStorage({ path, isShared: true });
      return await joinSqliteStorage(owner.connect());
    },
    async cleanUp() {
      await owner[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
});

const value = (text: string): Uint8Array => Buffer.from(text);

function recorder(): WatchObserver & { readonly seen: StorageEvent[] } {
  const seen: StorageEvent[] = [];
  return {
    seen,
    events: (events) => void seen.push(...events),
    // The store closes at the end of the test.
    error: () => undefined,
  };
}

it("a write is known to all as soon as it is answered, and each watch has every write once and in order", async () => {
  const first = await openShared();
  const storages = [first, await joinSqliteStorage(first.connect()), await joinSqliteStorage(first.connect())];
  const start = await first.currentRevision();
  const watches = storages.map((storage) => {
    const observer = recorder();
    storage.watch("/", start, observer);
    return observer;
  });
  await Promise.all(
    storages.map(async (storage, own) => {
      for (let round = 0; round < 40; round++) {
        const written = await Promise.all(
          Array.from({ length: 5 }, (_, index) => storage.create(`/${own}/${round}/${index}`, value(`${round}`))),
        );
        const newest = Math.max(...written);
        for (const other of storages) {
          expect(other.known?.revision).toBeGreaterThanOrEqual(newest);
          expect(await other.currentRevision()).toBeGreaterThanOrEqual(newest);
        }
        // Linearizable, and of another thread.
        const other = storages[(own + 1) % storages.length];
        expect((await other?.get(`/${own}/${round}/0`))?.revision).toBe(written[0]);
      }
    }),
  );
  const last = await first.currentRevision();
  for (const { seen } of watches) {
    await expect.poll(() => seen.length).toBe(600);
    expect(seen.map(revisionOf)).toEqual(Array.from({ length: 600 }, (_, index) => start + 1 + index));
    expect(seen.map(keyOf)).toEqual(watches[0]?.seen.map(keyOf));
  }
  expect(last).toBe(start + 600);
});

it("others see the old value of a change and of a deletion", async () => {
  const first = await openShared();
  const other = await joinSqliteStorage(first.connect());
  const observer = recorder();
  other.watch("/", await first.currentRevision(), observer);
  const created = await first.create("/a", value("1"));
  const changed = await first.update("/a", value("2"), created);
  await expect(other.update("/a", value("3"), created)).rejects.toThrow(RevisionConflictError);
  await expect(other.create("/a", value("3"))).rejects.toThrow(KeyExistsError);
  const deleted = await first.delete("/a", changed);
  await expect.poll(() => observer.seen.length).toBe(3);
  const entry = (revision: number, text: string) => ({ key: "/a", revision, value: value(text) });
  expect(observer.seen).toEqual([
    { type: "put", entry: entry(created, "1"), previous: undefined },
    { type: "put", entry: entry(changed, "2"), previous: entry(created, "1") },
    { type: "delete", key: "/a", revision: deleted, previous: entry(changed, "2") },
  ]);
});

it("one that leaves finishes its writes, and the others go on", async () => {
  const first = await openShared();
  const other = await joinSqliteStorage(first.connect());
  const written = other.create("/a", value("1"));
  await other[Symbol.asyncDispose]();
  expect((await first.get("/a"))?.revision).toBe(await written);
  expect(other.known?.revision).toBeUndefined();
  await expect(other.get("/a")).rejects.toThrow(StorageUnavailableError);
  await first.create("/b", value("2"));
});

it("ends for all when the one that opened it closes it", async () => {
  const first = await openShared();
  const other = await joinSqliteStorage(first.connect());
  const ended = new Promise<Error>((resolve) => {
    other.watch("/", 1, { events: () => undefined, error: resolve });
  });
  await first[Symbol.asyncDispose]();
  expect(await ended).toBeInstanceOf(StorageUnavailableError);
  expect(other.known?.revision).toBeUndefined();
  await expect(other.create("/a", value("1"))).rejects.toThrow(StorageUnavailableError);
});
