// The power fails at any point: what was acknowledged is on the disk, whatever of the rest is there or torn. A process that is killed
// leaves everything to the system, which writes it later; so every call by which a writer gives something to the disk is recorded, and
// of what no sync has confirmed this or that is left out. Also where syncs fail, and the system forgets what they were about.
// POWER_LOSSES says how often the power fails, TEST_SEED repeats a run as far as the scheduler allows.

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Revision } from "@postern/apiserver/storage/storage";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Acknowledged, isWhole, writerOf } from "./acknowledged.ts";
import { type SystemCall, traceProcess, whyNoTrace } from "./testing/traced-process.ts";
import { VolatileDisk } from "./testing/volatile-disk.ts";

const LOSSES = Number(process.env["POWER_LOSSES"] ?? 15);
const seed = Number(process.env["TEST_SEED"]);
const WRITER = fileURLToPath(new URL("store-writer.ts", import.meta.url));
const WRITES = 1_500;
const FORGET_EVERY = 100;
const TIMEOUT_MS = 300_000 + 2_000 * LOSSES;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-power-"));
});
afterEach(() => rm(folder, { recursive: true }));

type Recorded = { readonly inject?: string; readonly clients?: number };

async function recordWriter(next: (bound: number) => number, { inject, clients = 1 }: Recorded): Promise<SystemCall[]> {
  const path = join(folder, "disk", "made", "here", "store.db");
  await mkdir(join(folder, "disk"));
  const program = [process.execPath, "--conditions", "@postern/source", "--import", "tsx", WRITER];
  return await traceProcess({
    command: [...program, path, String(next(2 ** 31)), String(WRITES), String(FORGET_EVERY), String(clients)],
    folder: join(folder, "disk"),
    tracePath: join(folder, "trace"),
    ...(inject === undefined ? {} : { inject }),
  });
}

const read = (call: SystemCall): Acknowledged[] =>
  call.type !== "said"
    ? []
    : call.text
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line));

/** Switched on again, the store has everything that was acknowledged, and of each writer at most the write that it was waiting for. */
async function expectKept(path: string, acknowledged: readonly Acknowledged[]): Promise<void> {
  await using storage = await openSqliteStorage({ path });
  const { entries, revision } = await storage.list("/");
  const promised = Math.max(1, ...acknowledged.map((each) => each.revision));
  expect(revision).toBeGreaterThanOrEqual(promised);

  const found = new Map(entries.map((entry) => [entry.key, entry.revision]));
  const expected = new Map<string, Revision>();
  // Those of several clients come in any order.
  for (const { key, revision: at, deleted } of acknowledged.toSorted((a, b) => a.revision - b.revision)) {
    if (deleted) expected.delete(key);
    else expected.set(key, at);
  }
  const changed = [...new Set([...found.keys(), ...expected.keys()])].filter(
    (key) => found.get(key) !== expected.get(key),
  );
  for (const key of changed) expect(found.get(key) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(expected.get(key) ?? 0);
  // Each of them is a revision of its own, and no revision is left out.
  expect(changed).toHaveLength(revision - 1 - acknowledged.length);
  const writers = changed.map(writerOf);
  expect(new Set(writers).size).toBe(writers.length);

  for (const { key, value } of entries) if (!isWhole(value)) expect.fail(`the value of ${key} is torn`);
  // It goes on from there.
  expect(await storage.create("/next", Buffer.from("x"))).toBe(revision + 1);
}

const missing = whyNoTrace();
const FAILING = "fsync,fdatasync:error=EIO:when=25+13";
test.skipIf(missing !== undefined).each<[string, Recorded]>([
  ["on a disk that works", {}],
  ["on a disk that fails at times to take what it is given", { inject: FAILING }],
  ["with three clients of the store, as of threads", { clients: 3 }],
  ["with three clients, on a disk that fails at times", { clients: 3, inject: FAILING }],
])(
  `what was acknowledged is there after the power has failed, %s (TEST_SEED=${seed}, POWER_LOSSES=${LOSSES})${missing === undefined ? "" : `: ${missing}`}`,
  async (_, recorded) => {
    const next = randomNumbers(seed);
    const calls = await recordWriter(next, recorded);
    const history = calls.flatMap(read);
    expect(history.length).toBeGreaterThanOrEqual(WRITES);
    if (recorded.clients === undefined)
      expect(history.map(({ revision }) => revision)).toEqual(history.map((_, index) => 2 + index));
    expect(calls.filter((call) => call.type === "synced" && call.failed).length > 0).toBe(
      recorded.inject !== undefined,
    );

    const disk = new VolatileDisk(join(folder, "disk"), next);
    const begin = calls.findIndex((call) => call.type === "created");
    const losses = Array.from({ length: LOSSES }, () => begin + next(calls.length - begin)).sort((a, b) => a - b);
    const acknowledged: Acknowledged[] = [];
    for (const [at, call] of calls.entries()) {
      for (; losses[0] === at; losses.shift()) {
        const image = join(folder, "image");
        await mkdir(image);
        await disk.writeTo(image);
        await expectKept(join(image, "made", "here", "store.db"), acknowledged);
        await rm(image, { recursive: true });
      }
      disk.apply(call);
      acknowledged.push(...read(call));
    }
    expect(losses).toEqual([]);
  },
  TIMEOUT_MS,
);
