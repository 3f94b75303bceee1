import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BackupError } from "../../foundation/store/backup-error.ts";
import { type BackupEntry, encodeEntry } from "../entry-frames.ts";
import { summarizeStore } from "../read-store.ts";
import { writeNewFile } from "../write-new-file.ts";
import { decodeHeader, encodeHeader, MAGIC } from "./backup-header.ts";
import { type BackupKey, findBackupKey, passphraseBackupKey, serverBackupKey } from "./backup-key.ts";
import { readBackup, readBackupHeader, verifyBackup } from "./read-backup.ts";
import { openBackup } from "./write-backup.ts";

const { clock, random } = systemRuntime;
const { signal } = new AbortController();
const SERVER_KEY = Buffer.alloc(32, 7);
const PREFIXES = { accessKeys: "/registry/keys/", certificates: "/registry/certificates/" };
const key = serverBackupKey(SERVER_KEY);
/** By night each byte is changed (ADR 117). */
const BYTES_APART = process.env["EVERY_CASE"] === undefined ? 5 : 1;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "postern-backup-"));
});
afterAll(() => rm(directory, { recursive: true }));

/** More than two pages, and an entry that fills a chunk. */
async function fullStore() {
  const storage = createMemoryStorage();
  for (let index = 0; index < 1_200; index++) await storage.create(`/k/${index}/é`, Buffer.from(`value ${index}`));
  await storage.create("/k/large", Buffer.alloc(3 << 20, "x"));
  await storage.create("/k/none", new Uint8Array());
  return storage;
}

async function backUp(name: string, storage = createMemoryStorage(), under: BackupKey = key) {
  const path = join(directory, name);
  const options = { storage, key: under, serverKey: SERVER_KEY, prefixes: PREFIXES, clock, random, signal };
  const { header, bytes } = await openBackup(options);
  await writeNewFile(path, bytes);
  return { path, header };
}

async function entriesOf(path: string, under: BackupKey = key): Promise<readonly BackupEntry[]> {
  const entries: BackupEntry[] = [];
  for await (const part of readBackup(path, under)) entries.push(...part.entries);
  return entries;
}

describe("a backup", () => {
  it("holds every entry of one revision, whatever is written meanwhile", async () => {
    const storage = await fullStore();
    const path = join(directory, "while-written");
    const before = await storage.list("");
    const expected = await summarizeStore(storage, signal);
    const options = { storage, key, serverKey: SERVER_KEY, prefixes: PREFIXES, clock, random, signal };
    const { header, bytes } = await openBackup(options);
    await storage.create("/k/0/later", Buffer.from("later"));
    await storage.delete("/k/999/é", before.entries.find((entry) => entry.key === "/k/999/é")?.revision ?? 0);
    await writeNewFile(path, bytes);

    expect(header.revision).toBe(before.revision);
    expect(await verifyBackup(path, key)).toEqual(expected);
    const [found, wanted] = [await entriesOf(path), before.entries].map((entries) =>
      Buffer.concat(entries.map(encodeEntry)),
    );
    expect(found?.equals(wanted ?? Buffer.alloc(0))).toBe(true);
  });

  it("shows nothing of its content but how long it is", async () => {
    const { path } = await backUp("closed", await fullStore());
    const bytes = await readFile(path);
    for (const text of ["value 7", "/k/119", "xxxxxxxx"]) expect(bytes.includes(text), text).toBe(false);
  });

  it("has its own key: two with the same content share nothing after their headers", async () => {
    const storage = createMemoryStorage();
    await storage.create("/k/a", Buffer.alloc(1_000, "a"));
    const [one, other] = await Promise.all(["twin-1", "twin-2"].map((name) => backUp(name, storage)));
    const [first, second] = await Promise.all([one, other].map((backup) => readFile(backup?.path ?? "")));
    // In the middle of the value: as much stands behind it in both.
    const [a, b] = [first, second].map((bytes) => bytes?.subarray(-800, -300));
    expect(a).toHaveLength(500);
    expect(a?.equals(b ?? Buffer.alloc(0))).toBe(false);
  });

  it("of an empty store is one", async () => {
    const { path } = await backUp("empty");
    expect(await entriesOf(path)).toEqual([]);
  });

  it("decrypts only with its passphrase, white space around it ignored", async () => {
    const secret = await passphraseBackupKey("a long passphrase\n", random);
    const { path } = await backUp("passphrase", await fullStore(), secret);
    const { key: source } = await readBackupHeader(path);
    const find = (passphrase: string | undefined) => findBackupKey(source, { server: SERVER_KEY, passphrase });
    expect(await find(undefined)).toBeUndefined();
    expect((await entriesOf(path, await find("a long passphrase"))).length).toBe(1_202);
    await expect(verifyBackup(path, (await find("another passphrase")) ?? key)).rejects.toThrow(/another passphrase/);
    await expect(passphraseBackupKey("short", random)).rejects.toThrow(BackupError);
  });

  it("is refused under another server key", async () => {
    const { path } = await backUp("other-key");
    await expect(verifyBackup(path, serverBackupKey(Buffer.alloc(32, 8)))).rejects.toThrow(/another server key/);
  });

  it("is refused wherever one bit of it is another", async () => {
    const storage = createMemoryStorage();
    for (let index = 0; index < 5; index++) await storage.create(`/k/${index}`, Buffer.from("value"));
    const bytes = await readFile((await backUp("bits", storage)).path);
    const path = join(directory, "bits-changed");
    for (let at = 0; at < bytes.length; at += BYTES_APART) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      await writeFile(path, changed);
      await expect(verifyBackup(path, key), `byte ${at}`).rejects.toThrow(BackupError);
    }
  });

  it("is refused where a chunk is neither the last one nor another", async () => {
    const { path, header } = await backUp("place", await fullStore());
    const bytes = await readFile(path);
    const place = MAGIC.length + 4 + encodeHeader(header).length + 4;
    expect(bytes[place]).toBe(0);
    bytes[place] = 2;
    await writeFile(path, bytes);
    await expect(verifyBackup(path, key)).rejects.toThrow(/damaged/);
  });

  it.each([1e300, -1e300, 8.64e15 + 1])("is refused if its header says that it is from %d", async (takenAt) => {
    const header = encodeHeader({ ...(await backUp(`time ${takenAt}`)).header, takenAt });
    expect(() => decodeHeader(header)).toThrow(/damaged/);
  });

  it("is refused where it is truncated, and where more follows it", async () => {
    const storage = createMemoryStorage();
    await storage.create("/k/a", Buffer.alloc(1 << 20, "a"));
    await storage.create("/k/b", Buffer.from("b"));
    const bytes = await readFile((await backUp("cut", storage)).path);
    const path = join(directory, "cut-off");
    const lengths = [
      0,
      1,
      15,
      40,
      500,
      1 << 19,
      1 << 20,
      ...Array.from({ length: 60 }, (_, less) => bytes.length - 1 - less),
    ];
    for (const length of lengths) {
      await writeFile(path, bytes.subarray(0, length));
      await expect(verifyBackup(path, key), `${length} bytes`).rejects.toThrow(BackupError);
    }
    await writeFile(path, Buffer.concat([bytes, Buffer.from("x")]));
    await expect(verifyBackup(path, key)).rejects.toThrow(/damaged/);
  });

  it("is not written over a file, nor left half written", async () => {
    const { path } = await backUp("once");
    await expect(backUp("once")).rejects.toThrow(`${path} already exists`);
    const failing = (async function* () {
      yield Buffer.from("half");
      throw new Error("the store is gone");
    })();
    await expect(writeNewFile(join(directory, "half"), failing)).rejects.toThrow("the store is gone");
    await expect(readFile(join(directory, "half"))).rejects.toThrow("ENOENT");
    await expect(readFile(join(directory, "half.partial"))).rejects.toThrow("ENOENT");
  });
});
