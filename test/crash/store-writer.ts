// A process that writes to a SQLite store until it is killed, and says on its standard output what has been acknowledged.
// Usage: node --conditions @postern/source --import tsx store-writer.ts <path> <seed> [<writes> <forget every> [<clients>]]
// With a number of writes it kills itself after so many, and forgets its history once in so many. Clients use the store as further threads of a server do.

import { writeSync } from "node:fs";
import type { Storage } from "@postern/apiserver/storage/storage";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { joinSqliteStorage, openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { type Acknowledged, crashKey, crashValue, KEYS, WRITERS } from "./acknowledged.ts";

const [path = "", seed = "", limit = "Infinity", forgetEvery = "Infinity", clients = "1"] = process.argv.slice(2);
const next = randomNumbers(Number(seed));
const first = await openSqliteStorage({ path, isShared: clients !== "1" });
const further = Array.from({ length: Number(clients) - 1 }, () => joinSqliteStorage(first.connect()));
const storages = [first, ...(await Promise.all(further))];
const storage: Storage = first;
const storageOf = (writer: number): Storage => storages[writer % storages.length] ?? first;
let acknowledged = 0;
const revisions = new Map((await storage.list("/")).entries.map((entry) => [entry.key, entry.revision]));

// Synchronous: what has been said survives the end of the process. The pipe takes nothing while the reader is slow.
function say(acknowledged: Acknowledged): void {
  let rest = Buffer.from(`${JSON.stringify(acknowledged)}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  }
}

async function acknowledge(written: Acknowledged): Promise<void> {
  if (written.deleted) revisions.delete(written.key);
  else revisions.set(written.key, written.revision);
  say(written);
  acknowledged++;
  if (acknowledged >= Number(limit)) process.kill(process.pid, "SIGKILL");
  if (acknowledged % Number(forgetEvery) === 0) await storage.compact(written.revision).catch(orUnavailable);
}

/** The disk may be made to fail. */
function orUnavailable(error: unknown): void {
  if (!(error instanceof StorageUnavailableError)) throw error;
}

async function write(writer: number): Promise<void> {
  const storage = storageOf(writer);
  const key = crashKey(writer + WRITERS * next(KEYS / WRITERS));
  const current = revisions.get(key);
  if (current !== undefined && next(4) === 0) {
    await acknowledge({ key, revision: await storage.delete(key, current), deleted: true });
    return;
  }
  const value = crashValue(next(2 ** 31), next(10) === 0 ? 20_000 : next(1_500));
  const revision = await (current === undefined ? storage.create(key, value) : storage.update(key, value, current));
  await acknowledge({ key, revision, deleted: false });
}

async function writeForever(writer: number): Promise<never> {
  for (;;) await write(writer).catch(orUnavailable);
}

// So that the end may also come in the middle of forgetting.
await storage.compact(await storage.currentRevision());
await Promise.all(Array.from({ length: WRITERS }, (_, writer) => writeForever(writer)));
