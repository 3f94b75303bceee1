// The real server is killed at random points of real traffic, over and over: afterwards every key that was answered for is there,
// every revocation that was confirmed holds, and the audit log hangs together and has everything that was answered.
// CRASH_SERVER_KILLS says how often (the nightly run takes hundreds), TEST_SEED repeats a run as far as the scheduler allows.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createChainReader } from "@postern/apimachinery/audit/audit-chain";
import { sha256 } from "@postern/apiserver/audit/audit-chain";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { expectKept, type PromisedKeys, startKeyTraffic } from "./testing/key-traffic.ts";
import { type ServerProcess, startServerProcess } from "./testing/server-process.ts";

const KILLS = Number(process.env["CRASH_SERVER_KILLS"] ?? 2);
const seed = Number(process.env["TEST_SEED"]);
/** Of what older lives were promised, so many are looked at after each start, and all at the end. */
const SAMPLE = 60;
const TIMEOUT_MS = 120_000 + 30_000 * KILLS;
/** At once. */
const CHECKS = 8;

test(
  `nothing that was answered is lost by kill -9 (TEST_SEED=${seed}, CRASH_SERVER_KILLS=${KILLS})`,
  async () => {
    const next = randomNumbers(seed);
    await using directory = await temporaryDirectory();
    const auditPath = join(directory.path, "audit.log");
    const flags = ["--audit-log-path", auditPath, "--audit-log-mode", "blocking", "--audit-log-maxsize", "0"];
    await using server = await startServerProcess(directory.path, [...flags, "--failed-logins-per-minute", "0"]);
    const adminKey = server.adminKey ?? "";
    const promises: PromisedKeys = new Map();
    let acknowledged = 0;
    for (let round = 0; round < KILLS; round++) {
      const older = [...promises.keys()];
      const traffic = startKeyTraffic(server.client, adminKey, { promises, next, prefix: `k${round}` });
      const due = 1 + next(120);
      await expect.poll(traffic.acknowledged, { timeout: 60_000, interval: 1 }).toBeGreaterThanOrEqual(due);
      await server.kill();
      await traffic.over;
      acknowledged += traffic.acknowledged();
      await server.restart();

      const wasThere = new Set(older);
      const sample = new Set(Array.from({ length: SAMPLE }, () => older[next(older.length + 1)]));
      await expectPromisesKept(server, promises, (name) => !wasThere.has(name) || sample.has(name));
    }
    await expectPromisesKept(server, promises, () => true);
    // Last of all: the use of a value that is over locks the key.
    for (const key of promises.values()) {
      if (key.retired !== undefined)
        await expectKept(server.client, { ...key, value: key.retired, isGood: false, opensCluster: false });
    }
    expect(acknowledged).toBeGreaterThanOrEqual(KILLS);
    await expectWholeAudit(auditPath, promises, KILLS);
    const good = [...promises.values()].filter(({ isGood }) => isGood).length;
    process.stdout.write(
      `${acknowledged} answers, ${good} keys that are good, ${promises.size - good} that are revoked\n`,
    );
  },
  TIMEOUT_MS,
);

async function expectPromisesKept(
  { client }: ServerProcess,
  promises: PromisedKeys,
  isLookedAt: (name: string) => boolean,
): Promise<void> {
  const keys = [...promises.values()].filter(({ name }) => isLookedAt(name));
  for (let at = 0; at < keys.length; at += CHECKS) {
    await Promise.all(keys.slice(at, at + CHECKS).map((key) => expectKept(client, key)));
  }
}

/** A kill leaves half a line at most; whatever was answered stands there. */
async function expectWholeAudit(path: string, promises: PromisedKeys, kills: number): Promise<void> {
  const reader = createChainReader(sha256);
  const issued = new Set<string>();
  for (const line of (await readFile(path, "utf8")).trimEnd().split("\n")) {
    reader.read(line);
    const id = /"authentication\.kubernetes\.io\/issued-credential-id":"(\w+)"/.exec(line)?.[1];
    if (id !== undefined) issued.add(id);
  }
  const { faults } = reader.report();
  expect(faults.filter(({ fault }) => fault !== "not-json")).toEqual([]);
  expect(faults.length).toBeLessThanOrEqual(kills);
  for (const { name, value } of promises.values()) {
    const [, id = ""] = value.split("_");
    if (!issued.has(id)) expect.fail(`the audit log does not know of the value of ${name}`);
  }
}
