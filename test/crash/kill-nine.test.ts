// The process dies at any point: what was acknowledged is there, nothing is torn, and the history has no hole.
// CRASH_ROUNDS says how often (the nightly run takes hundreds), TEST_SEED repeats a run as far as the scheduler allows.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Revision } from "@postern/apiserver/storage/storage";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { WatchRecorder } from "@postern/apiserver/storage/testing/watch-recorder";
import { keyOf, revisionOf } from "@postern/apiserver/storage/watcher-set";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Acknowledged, isWhole } from "./acknowledged.ts";

const ROUNDS = Number(process.env["CRASH_ROUNDS"] ?? 3);
const seed = Number(process.env["TEST_SEED"]);
const WRITER = fileURLToPath(new URL("store-writer.ts", import.meta.url));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-crash-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Lets a writer work until it has been acknowledged `writes` writes, then kills it. */
async function writeUntilKilled(path: string, writerSeed: number, writes: number): Promise<Acknowledged[]> {
  const writer = spawn(
    process.execPath,
    ["--conditions", "@postern/source", "--import", "tsx", WRITER, path, String(writerSeed)],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const exit = once(writer, "exit");
  const acknowledged: Acknowledged[] = [];
  for await (const line of createInterface({ input: writer.stdout })) {
    // The last line may have been cut off.
    if (line.endsWith("}")) acknowledged.push(JSON.parse(line));
    if (acknowledged.length === writes) writer.kill("SIGKILL");
  }
  expect(await exit).toEqual([null, "SIGKILL"]);
  return acknowledged;
}

test(`acknowledged writes survive kill -9 completely (TEST_SEED=${seed}, CRASH_ROUNDS=${ROUNDS})`, async () => {
  const next = randomNumbers(seed);
  const path = join(folder, "store.db");
  const model = new Map<string, Revision>();
  let before: Revision = 1;
  for (let round = 0; round < ROUNDS; round++) {
    const acknowledged = await writeUntilKilled(path, next(2 ** 31), 1 + next(3_000));

    await using storage = await openSqliteStorage({ path });
    const { entries, revision } = await storage.list("/");
    using history = WatchRecorder.start(storage, "/", before);
    await history.reached(revision);

    expect(history.events.map(revisionOf)).toEqual(
      Array.from({ length: revision - before }, (_, index) => before + 1 + index),
    );
    const happened = new Map(history.events.map((event) => [revisionOf(event), event]));
    for (const { key, revision: at, deleted } of acknowledged) {
      const event = happened.get(at);
      if (event === undefined) expect.fail(`${key}@${at} is lost, the store is at ${revision}`);
      expect([keyOf(event), event.type]).toEqual([key, deleted ? "delete" : "put"]);
    }

    for (const event of history.events) {
      if (event.type === "put") model.set(event.entry.key, event.entry.revision);
      else model.delete(event.key);
    }
    expect(new Map(entries.map((entry) => [entry.key, entry.revision]))).toEqual(model);
    for (const { key, value } of entries) if (!isWhole(value)) expect.fail(`the value of ${key} is torn`);
    before = revision;
  }
});
