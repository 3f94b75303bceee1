// Keys and secrets that come and go by the thousand while others watch: memory and database are then what they were after the first half. By
// night for longer: CHURN_LIVES.

import { type ChildProcess, fork } from "node:child_process";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ChurnKind } from "../../benchmarks/load/churn.ts";
import { accessKeyBody, COLLECTION } from "../../benchmarks/servers/access-key-object.ts";
import type { ChurnReport } from "./testing/churning-client.ts";
import { adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./testing/postern-process.ts";

const LIVES = Number(process.env["CHURN_LIVES"] ?? 8_000);
/** Less than a slow machine can do: what waits in a queue is memory too. */
const PER_SECOND = Number(process.env["CHURN_PER_SECOND"] ?? 60);
const SECRETS = "/api/v1/namespaces/default/secrets";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let send: HttpClient;
let token: string;
let child: ChildProcess | undefined;

beforeAll(async () => {
  directory = await temporaryDirectory();
  const data = join(directory.path, "data");
  server = await startPostern(data, [
    "--store",
    `sqlite:${join(directory.path, "churn.db")}`,
    "--history-max-age-seconds",
    "5",
  ]);
  send = await httpClient(server);
  token = await adminKey(server);
});
afterAll(async () => {
  child?.kill();
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

async function residentMegabytes(): Promise<number> {
  const pages = Number((await readFile(`/proc/${server.pid}/statm`, "utf8")).split(" ")[1]);
  return (pages * 4_096) / 1e6;
}

/** With its log. */
async function databaseMegabytes(): Promise<number> {
  const names = (await readdir(directory.path)).filter((name) => name.startsWith("churn.db"));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory.path, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0) / 1e6;
}

async function count(path: string): Promise<number> {
  const { body } = await send(path, { key: token });
  return body.items.length;
}

function startChurn(options: object) {
  const client = fork(new URL("./testing/churning-client.ts", import.meta.url), [JSON.stringify(options)], {
    execArgv: ["--import", "tsx"],
  });
  child = client;
  return {
    process: client,
    /** The first report like this; rejects where the client ends before. */
    until: (isReached: (report: ChurnReport) => boolean): Promise<ChurnReport> =>
      new Promise((resolve, reject) => {
        const take = (report: ChurnReport): void => {
          if (!isReached(report)) return;
          client.off("message", take).off("exit", fail);
          resolve(report);
        };
        const fail = (): void => reject(new Error("the client has ended"));
        client.on("message", take).on("exit", fail);
      }),
  };
}

test("created and deleted objects leave neither memory nor disk in use", async () => {
  const target = { url: server.url, ca: await readFile(server.caFile, "utf8"), token };
  const kinds: readonly ChurnKind[] = [
    {
      target,
      collection: COLLECTION,
      name: "key-{n}",
      body: accessKeyBody(),
      change: JSON.stringify({ spec: { description: "y".repeat(400) } }),
      perSecond: PER_SECOND * 0.6,
    },
    {
      target,
      collection: SECRETS,
      name: "secret-{n}",
      body: JSON.stringify({ metadata: { name: "secret-{n}" }, stringData: { text: "x".repeat(900) } }),
      change: JSON.stringify({ stringData: { text: "y".repeat(900) } }),
      perSecond: PER_SECOND * 0.4,
    },
  ];
  const before = await Promise.all([COLLECTION, SECRETS].map(count));
  const churn = startChurn({ kinds, watches: 20, connections: 2, pauseMs: 200 });
  await churn.until(({ lives }) => lives > LIVES / 2);
  const [memory, database] = [await residentMegabytes(), await databaseMegabytes()];
  await churn.until(({ lives }) => lives > LIVES);
  const [later, laterDatabase] = [await residentMegabytes(), await databaseMegabytes()];
  churn.process.send("end");
  const { lives, events, failures, longestWait } = await churn.until(({ isOver }) => isOver);
  process.stdout.write(
    `${lives} lives, ${events} events told, longest wait ${Math.round(longestWait)} ms: memory ${Math.round(memory)} to ${Math.round(later)} MB, database ${Math.round(database)} to ${Math.round(laterDatabase)} MB\n`,
  );
  expect(failures).toEqual({});
  expect(events).toBeGreaterThan(LIVES);
  expect(later).toBeLessThan(memory * 1.5);
  expect(laterDatabase).toBeLessThan(Math.max(database * 1.5, 20));
  expect(await Promise.all([COLLECTION, SECRETS].map(count))).toEqual(before);
  // A hundred single ones, a few more since, and those that count the others.
  expect(await count("/api/v1/events")).toBeLessThan(150);
});
