// A process that writes to a SQLite store until it is killed, and says on its standard output what has been acknowledged.
// Usage: node --conditions @postern/source --import tsx store-writer.ts <path> <seed>

import { writeSync } from "node:fs";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { type Acknowledged, crashKey, crashValue, KEYS } from "./acknowledged.ts";

const WRITERS = 16;

const [path = "", seed = ""] = process.argv.slice(2);
const next = randomNumbers(Number(seed));
const storage = await openSqliteStorage({ path });
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

async function write(writer: number): Promise<void> {
  // Writers have keys of their own, so that nobody is refused.
  const key = crashKey(writer + WRITERS * next(KEYS / WRITERS));
  const current = revisions.get(key);
  if (current !== undefined && next(4) === 0) {
    const revision = await storage.delete(key, current);
    revisions.delete(key);
    say({ key, revision, deleted: true });
    return;
  }
  const value = crashValue(next(2 ** 31), next(10) === 0 ? 20_000 : next(1_500));
  const revision = await (current === undefined ? storage.create(key, value) : storage.update(key, value, current));
  revisions.set(key, revision);
  say({ key, revision, deleted: false });
}

async function writeForever(writer: number): Promise<never> {
  for (;;) await write(writer);
}

// So that the end may also come in the middle of forgetting.
await storage.compact(await storage.currentRevision());
await Promise.all(Array.from({ length: WRITERS }, (_, writer) => writeForever(writer)));
