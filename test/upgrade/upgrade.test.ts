// The stores that releases have left, on this build: all of their content is there, and the release before can go on with what this one leaves.

import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { describe, expect, it } from "vitest";
import { byNight, everyCase } from "../../tools/test-cost/by-night.ts";
import { httpClient } from "../e2e/testing/http-client.ts";
import {
  ENTRY,
  NODE,
  postern,
  REPOSITORY,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";
import { makeSelfSigned } from "../e2e/testing/self-signed.ts";
import { startInstalled } from "../install/testing/installed-server.ts";
import { etcdFormat, loadEtcd, sqliteFormat } from "./testing/etcd-dump.ts";
import { expectContent, writeServerKey } from "./testing/recorded-content.ts";

type Recording = { readonly release: string; readonly sqlite: number; readonly etcd: number; readonly backup: number };

const TESTDATA = join(REPOSITORY, "test/upgrade/testdata");
const RELEASES = readdirSync(TESTDATA).sort();
const NEWEST = RELEASES.at(-1) ?? "";
const recorded = (release: string, name: string): string => join(TESTDATA, release, name);
const recordingOf = (release: string): Recording =>
  JSON.parse(readFileSync(recorded(release, "recording.json"), "utf8"));
/** The command `postern` of the release before, such as a single file. */
const PREVIOUS = process.env["PREVIOUS_POSTERN"];

/** Starts this build, which has to show everything. */
async function expectServed(dataDir: string, flags: readonly string[]): Promise<void> {
  await using server = await startPostern(dataDir, flags);
  await expectContent(await httpClient(server));
  await server.stop();
}

/** And so has the release before, on what this build has left. */
async function expectServedByPrevious(dataDir: string, flags: readonly string[]): Promise<void> {
  if (PREVIOUS === undefined) return;
  const args = ["serve", "--data-dir", dataDir, "--secure-port", "0", ...flags];
  await using server = await startInstalled(spawn(PREVIOUS, args, { env: { PATH: process.env["PATH"] } }));
  await expectContent(await httpClient({ url: server.url, caFile: join(dataDir, "ca.crt") }));
  await server.stop();
}

it("has a recording of each format", () => {
  expect(RELEASES.length).toBeGreaterThan(0);
});

describe.each(RELEASES)("a store of release %s", (release) => {
  const recording = recordingOf(release);
  // A newer format is for a release that says so: docs/operations/upgrading.md.
  const isNewest = release === NEWEST;

  it("in SQLite is served, and the previous release can continue with it", async () => {
    await using directory = await temporaryDirectory();
    const dataDir = join(directory.path, "data");
    await writeServerKey(dataDir);
    const path = join(dataDir, "postern.db");
    const database = gunzipSync(readFileSync(recorded(release, "postern.db.gz")));
    expect(sqliteFormat(database)).toBe(recording.sqlite);
    await writeFile(path, database, { mode: 0o600 });
    const flags = ["--store", "sqlite"];
    await expectServed(dataDir, flags);
    if (isNewest) expect(sqliteFormat(await readFile(path))).toBe(recording.sqlite);
    await expectServedByPrevious(dataDir, flags);
    // And once more, after whatever the first start has changed.
    await expectServed(dataDir, flags);
  });

  it.skipIf(!everyCase || whyNoEtcd() !== undefined)(
    "in etcd is served, and the release before can go on with it",
    async () => {
      await using directory = await temporaryDirectory();
      await using etcd = await startEtcd();
      await loadEtcd(etcd.endpoints, readFileSync(recorded(release, "etcd.json.gz")));
      expect(await etcdFormat(etcd.endpoints)).toBe(recording.etcd);
      const dataDir = join(directory.path, "data");
      await writeServerKey(dataDir);
      // Servers on etcd share an authority, which is not in the store.
      await makeSelfSigned({
        certificate: join(dataDir, "ca.crt"),
        key: join(dataDir, "ca.key"),
        subject: "/CN=postern",
        days: 30,
        extensions: ["keyUsage=critical,keyCertSign,cRLSign"],
      });
      const flags = ["--store", `etcd://${etcd.endpoints.join(",")}`];
      await expectServed(dataDir, flags);
      if (isNewest) expect(await etcdFormat(etcd.endpoints)).toBe(recording.etcd);
      await expectServedByPrevious(dataDir, flags);
    },
  );

  byNight("is restored from its backup", async () => {
    await using directory = await temporaryDirectory();
    const dataDir = join(directory.path, "data");
    await writeServerKey(dataDir);
    const backup = join(directory.path, "store.backup");
    await copyFile(recorded(release, "store.backup"), backup);
    await succeed(postern("restore", "--in", backup, "--data-dir", dataDir, "--keep-keys"));
    await expectServed(dataDir, ["--store", "sqlite"]);
  });

  it("is listed in the table of formats", () => {
    const page = readFileSync(join(REPOSITORY, "docs/operations/upgrading.md"), "utf8");
    expect(page).toContain(`| ${release} | ${recording.sqlite} | ${recording.etcd} | ${recording.backup} |`);
  });
});

it("a store of a newer release is refused with its format and what to do, and not changed", async () => {
  await using directory = await temporaryDirectory();
  const dataDir = join(directory.path, "data");
  mkdirSync(dataDir, { mode: 0o700 });
  await writeServerKey(dataDir);
  const database = gunzipSync(readFileSync(recorded(NEWEST, "postern.db.gz")));
  database.writeUInt32BE(sqliteFormat(database) + 1, 60);
  const path = join(dataDir, "postern.db");
  await writeFile(path, database, { mode: 0o600 });
  const { code, stderr } = await tool(NODE, [
    ENTRY,
    "serve",
    "--data-dir",
    dataDir,
    "--store",
    "sqlite",
    "--secure-port",
    "0",
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /was written by a newer release \(\S+ has schema version \d+, this release knows up to \d+.*run that release, or restore an older backup/,
  );
  expect((await readFile(path)).equals(database)).toBe(true);
});
