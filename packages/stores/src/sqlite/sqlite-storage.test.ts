import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeStorage } from "@postern/apiserver/storage/testing/storage-suite";
import { expect, it, onTestFinished } from "vitest";
import { openSqliteStorage } from "./sqlite-storage.ts";

describeStorage("SQLite storage", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-sqlite-"));
  const path = join(folder, "store.db");
  return {
    storage: await openSqliteStorage({ path }),
    reopen: () => openSqliteStorage({ path }),
    cleanUp: () => rm(folder, { recursive: true }),
  };
});

it("lets other requests run between writes that are committed together (security book 50)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-sqlite-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await using storage = await openSqliteStorage({ path: join(folder, "store.db") });
  let [inTurn, most] = [0, 0];
  let isOver = false;
  const nextTurn = (): void => {
    inTurn = 0;
    if (!isOver) setImmediate(nextTurn);
  };
  nextTurn();
  const writes = Array.from({ length: 200 }, async (_, index) => {
    await storage.create(`/key-${index}`, Buffer.from("x"));
    most = Math.max(most, ++inTurn);
  });
  await Promise.all(writes);
  isOver = true;
  // Of two commits at most, which may be answered in one turn.
  expect(most).toBeLessThanOrEqual(16);
});

it("hands the content of a value to those who watch", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-sqlite-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await using storage = await openSqliteStorage({ path: join(folder, "store.db") });
  const told: unknown[] = [];
  using _ = storage.watch("/", await storage.currentRevision(), {
    events: (events) => told.push(...events.map((event) => event.type === "put" && event.content)),
    error() {},
  });
  const content = { of: "a" };
  await storage.create("/a", Buffer.from("x"), content);
  const revision = await storage.create("/b", Buffer.from("x"));
  await storage.update("/b", Buffer.from("y"), revision, content);
  expect(told).toEqual([content, undefined, content]);
  expect([told[0], told[2]].every((each) => each === content)).toBe(true);
});

it("answers the writes of one commit before those of the next", async () => {
  const folder = await mkdtemp(join(tmpdir(), "postern-sqlite-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await using storage = await openSqliteStorage({ path: join(folder, "store.db") });
  const answered: number[] = [];
  let sent = 0;
  const write = async (): Promise<void> => {
    const number = sent++;
    await storage.create(`/key-${number}`, Buffer.from("x"));
    answered.push(number);
    // Work after an answer takes time, in which the next commit ends.
    const until = performance.now() + 1;
    while (performance.now() < until);
    if (number === 0) await Promise.all(Array.from({ length: 8 }, write));
  };
  await Promise.all(Array.from({ length: 100 }, write));
  expect(answered).toEqual(Array.from({ length: 108 }, (_, number) => number));
});
