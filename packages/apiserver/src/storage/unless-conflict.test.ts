import { expect, it } from "vitest";
import { createMemoryStorage } from "./memory/memory-storage.ts";
import { StorageUnavailableError } from "./storage-errors.ts";
import { putUnlessConflict, unlessConflict } from "./unless-conflict.ts";

const KEY = "/registry/a";
const bytes = (text: string): Uint8Array => Buffer.from(text);

it("resolves with the revision of a write, and with undefined where another came first", async () => {
  await using storage = createMemoryStorage();
  const created = await putUnlessConflict(storage, KEY, bytes("1"), undefined);
  expect(created).toBeGreaterThan(0);
  expect(await putUnlessConflict(storage, KEY, bytes("2"), undefined)).toBeUndefined();
  const entry = await storage.get(KEY);
  const updated = await putUnlessConflict(storage, KEY, bytes("3"), entry);
  expect(updated).toBeGreaterThan(created ?? 0);
  expect(await putUnlessConflict(storage, KEY, bytes("4"), entry)).toBeUndefined();
  expect(await unlessConflict(storage.delete(KEY, created ?? 0))).toBeUndefined();
  expect(Buffer.from((await storage.get(KEY))?.value ?? []).toString()).toBe("3");
  expect(await unlessConflict(storage.delete(KEY, updated ?? 0))).toBeGreaterThan(updated ?? 0);
  expect(await putUnlessConflict(storage, KEY, bytes("5"), entry)).toBeUndefined();
});

it("rejects with any other failure", async () => {
  const failure = new StorageUnavailableError("the disk is full");
  await expect(unlessConflict(Promise.reject(failure))).rejects.toBe(failure);
});
