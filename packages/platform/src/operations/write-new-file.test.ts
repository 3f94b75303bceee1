// Writes a file as its content comes: it gets its name when it is whole, and never replaces or mixes with another file.

import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BackupError } from "../foundation/store/backup-error.ts";
import { writeNewFile } from "./write-new-file.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-new-file-"));
  path = join(folder, "backup");
});
afterEach(() => rm(folder, { recursive: true }));

/** Gives `text` in two halves, the second one when it may. */
async function* halves(text: string, secondMay: Promise<void>): AsyncGenerator<Uint8Array> {
  const middle = text.length / 2;
  yield Buffer.from(text.slice(0, middle));
  await secondMay;
  yield Buffer.from(text.slice(middle));
}

it("two at once under one name leave one of them whole, and the other is refused", async () => {
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const writing = ["first-", "second"].map((text) => writeNewFile(path, halves(text.repeat(1000), gate)));
  await expect.poll(() => readdir(folder)).toHaveLength(2);
  release();
  const outcomes = await Promise.allSettled(writing);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  const refused = outcomes.find((outcome) => outcome.status === "rejected");
  expect(refused?.reason).toBeInstanceOf(BackupError);
  expect(refused?.reason.message).toMatch(/already exists and is not overwritten/);
  const winner = outcomes[0]?.status === "fulfilled" ? "first-" : "second";
  expect(await readFile(path, "utf8")).toBe(winner.repeat(1000));
  expect(await readdir(folder)).toEqual(["backup"]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it("leaves nothing where what it is given fails", async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("text");
    throw new Error("cut off");
  }
  await expect(writeNewFile(path, failing())).rejects.toThrow("cut off");
  expect(await readdir(folder)).toEqual([]);
});
