import { appendFile, mkdtemp, rename, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileAuditSink } from "@postern/apiserver/audit/file-audit-sink";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordedChange } from "../testing/recorded-change.ts";
import { LogFollower, type LogPosition } from "./log-follower.ts";

const BYTES = 4_096;

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "follower-"));
  path = join(folder, "audit.log");
});
afterEach(() => rm(folder, { recursive: true }));

const idOf = (line: string): string => JSON.parse(line).auditID;

/** All that there is, and whether a file was missing. */
async function readAll(follower: LogFollower, most = 7) {
  const lines: string[] = [];
  let isGap = false;
  for (;;) {
    const read = await follower.read(most, BYTES);
    if (read.lines.length === 0) return { lines, isGap };
    expect(read.lines.length).toBeLessThanOrEqual(most);
    lines.push(...read.lines);
    isGap ||= read.isGap;
    follower.advance(read.next);
  }
}

type Step =
  | { readonly kind: "write"; readonly count: number; readonly size: number }
  | { readonly kind: "read"; readonly most: number }
  | { readonly kind: "restart" };

it("gives each line once and in order, whenever the log is renamed and the server starts again", async () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({
        kind: fc.constant("write" as const),
        count: fc.integer({ min: 1, max: 20 }),
        size: fc.constantFrom(0, 50, 900, 6_000),
      }),
      fc.record({ kind: fc.constant("read" as const), most: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ kind: fc.constant("restart" as const) }),
    ),
    { minLength: 1, maxLength: 25 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (taken: readonly Step[]) => {
      const own = await mkdtemp(join(folder, "run-"));
      const log = join(own, "audit.log");
      const written: string[] = [];
      const read: string[] = [];
      let sink = await createFileAuditSink({ path: log, maxBytes: 3_000, maxBackups: 10_000 });
      let follower = await LogFollower.open(log);
      let position: LogPosition | undefined;
      for (const step of taken) {
        if (step.kind === "write") {
          // Written while the follower reads.
          const writing = Array.from({ length: step.count }, () => {
            const id = `id-${written.length}`;
            written.push(id);
            return sink.write(recordedChange(id, "x".repeat(step.size)));
          });
          const { lines, next } = await follower.read(3, BYTES);
          read.push(...lines.map(idOf));
          follower.advance(next);
          position = next;
          await Promise.all(writing);
        } else if (step.kind === "read") {
          const { lines, next, isGap } = await follower.read(step.most, BYTES);
          expect(isGap).toBe(false);
          read.push(...lines.map(idOf));
          follower.advance(next);
          position = next;
        } else {
          await sink[Symbol.asyncDispose]();
          await follower[Symbol.asyncDispose]();
          sink = await createFileAuditSink({ path: log, maxBytes: 3_000, maxBackups: 10_000 });
          follower = await LogFollower.open(log, position ?? { file: "", offset: 0 });
        }
      }
      await sink[Symbol.asyncDispose]();
      const { lines, isGap } = await readAll(follower);
      read.push(...lines.map(idOf));
      await follower[Symbol.asyncDispose]();
      expect(isGap).toBe(false);
      expect(read).toEqual(written);
    }),
    { numRuns: 60 },
  );
});

it("begins at the end of a log that was there before", async () => {
  await writeFile(path, `${JSON.stringify(recordedChange("old"))}\n`);
  await using follower = await LogFollower.open(path);
  await appendFile(path, `${JSON.stringify(recordedChange("new"))}\n`);
  expect((await readAll(follower)).lines.map(idOf)).toEqual(["new"]);
});

it("waits for the rest of a line, and reads one that is longer than its piece", async () => {
  await writeFile(path, "");
  await using follower = await LogFollower.open(path);
  const line = JSON.stringify(recordedChange("long", "y".repeat(5 * BYTES)));
  await appendFile(path, line.slice(0, 3 * BYTES));
  expect((await follower.read(10, BYTES)).lines).toEqual([]);
  await appendFile(path, `${line.slice(3 * BYTES)}\n`);
  expect((await readAll(follower)).lines).toEqual([line]);
});

it("says that lines are missing where files were deleted before they were read, and goes on with the oldest", async () => {
  const sink = await createFileAuditSink({ path, maxBytes: 3_000, maxBackups: 2 });
  const follower = await LogFollower.open(path);
  await sink.write(recordedChange("first"));
  const { next } = await follower.read(10, BYTES);
  for (let number = 0; number < 200; number++) await sink.write(recordedChange(`id-${number}`));
  await sink[Symbol.asyncDispose]();

  const open = await readAll(follower);
  // By its open file it still has what a deleted one held.
  expect([open.isGap, idOf(open.lines[0] ?? "")]).toEqual([true, "first"]);
  await follower[Symbol.asyncDispose]();

  await using later = await LogFollower.open(path, next);
  const { lines, isGap } = await readAll(later);
  expect(isGap).toBe(true);
  expect(idOf(lines.at(-1) ?? "")).toBe("id-199");
  expect(idOf(lines[0] ?? "")).not.toBe("id-0");
});

it("goes on where another program cut the log, or put it away", async () => {
  await writeFile(path, `${JSON.stringify(recordedChange("a"))}\n`);
  await using follower = await LogFollower.open(path, { file: "", offset: 0 });
  expect((await readAll(follower)).lines.map(idOf)).toEqual(["a"]);
  await truncate(path);
  expect((await readAll(follower)).lines).toEqual([]);
  await appendFile(path, `${JSON.stringify(recordedChange("b"))}\n`);
  expect((await readAll(follower)).lines.map(idOf)).toEqual(["b"]);
  await rename(path, join(folder, "elsewhere"));
  await writeFile(path, `${JSON.stringify(recordedChange("c"))}\n`);
  expect((await readAll(follower)).lines.map(idOf)).toEqual(["c"]);
});
