// Programs that others wrote watch for a long time what never stands still, side by side on one server: kubectl of several releases, the
// Python and the JavaScript client, and a program with 34 busy watches and ordinary requests on one HTTP/2 connection, as client-go has it. By
// night for longer: SOAK_SECONDS.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CoreV1Api, KubeConfig, makeInformer } from "@kubernetes/client-node";
import { expect, it } from "vitest";
import type { ClientReport } from "../attacks/testing/watching-client.ts";
import { startChurn } from "./testing/churn.ts";
import { adminKey } from "./testing/http-client.ts";
import { everyRelease } from "./testing/kubectl-clients.ts";
import { startOwnServer } from "./testing/own-server.ts";
import { type PosternProcess, startTool } from "./testing/postern-process.ts";
import { startPythonInformer, whyNoPythonClient } from "./testing/python.ts";

const SECONDS = Number(process.env["SOAK_SECONDS"] ?? 60);
const SECRETS = "/api/v1/namespaces/default/secrets";
const OBJECTS = 500;
/** As many as a controller has that looks after most kinds. */
const BUSY = 34;
const seed = Number(process.env["TEST_SEED"]);
/** Until then the server still grows: code is compiled, and what is kept of the history fills up. */
const SETTLED_AFTER = 0.4;
const FLAT_MIB = 100;
const SAMPLE_MS = 2_000;
const WAIT = { timeout: 120_000, interval: 100 };
const CLIENT = new URL("../attacks/testing/watching-client.ts", import.meta.url);

const noPython = await whyNoPythonClient();
const { clients: kubectls } = await everyRelease();

async function residentMiB({ pid }: PosternProcess): Promise<number> {
  const pages = Number((await readFile(`/proc/${pid}/statm`, "utf8")).split(" ")[1]);
  return Math.round((pages * 4096) / (1 << 20));
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function startController(
  server: PosternProcess,
  key: string,
): { readonly child: ChildProcess; latest(): ClientReport | undefined } {
  const args = [server.url, SECRETS, `${SECRETS}?limit=1`, key, String(BUSY), "0"];
  const child = fork(CLIENT.pathname, args, { execArgv: ["--import", "tsx"] });
  let report: ClientReport | undefined;
  child.on("message", (message: ClientReport) => {
    report = message;
  });
  return { child, latest: () => report };
}

it(`every client of a busy server stays connected and up to date, and its memory stays flat (TEST_SEED=${seed}) (security book 48)`, {
  timeout: (SECONDS + 600) * 1_000,
}, async () => {
  await using server = await startOwnServer([], { env: { POSTERN_LOG_LEVEL: "warn" } });
  const key = await adminKey(server);
  const config = new KubeConfig();
  config.loadFromFile(server.adminKubeconfig);
  const core = config.makeApiClient(CoreV1Api);
  await using churn = await startChurn(server.adminKubeconfig, { objects: OBJECTS, seed });

  const watching = kubectls.map(({ program, tag }) => ({
    tag,
    tool: startTool(program, [
      ...["--kubeconfig", server.adminKubeconfig, "--cache-dir", join(server.directory, tag)],
      ...["get", "secrets", "--namespace", "default", "--watch", "--output", "name"],
    ]),
  }));
  let errors = 0;
  const informer = makeInformer(config, SECRETS, () => core.listNamespacedSecret({ namespace: "default" }));
  informer.on("error", () => {
    errors++;
    setTimeout(() => void informer.start().catch(() => undefined), 50);
  });
  await informer.start();
  using python = noPython === undefined ? startPythonInformer(server.adminKubeconfig) : undefined;
  const controller = startController(server, key);

  const memory: number[] = [];
  let writes = 0;
  const counting = (async () => {
    for (; memory.length * SAMPLE_MS < SECONDS * 1_000; writes += 50) await churn.writes(50);
  })();
  while (memory.length * SAMPLE_MS < SECONDS * 1_000) {
    await pause(SAMPLE_MS);
    memory.push(await residentMiB(server));
  }
  await counting;
  await churn.stop();
  await core.createNamespacedSecret({ namespace: "default", body: { metadata: { name: "end" } } });

  for (const { tag, tool } of watching)
    await expect.poll(tool.output, { ...WAIT, message: tag }).toContain("secret/end\n");
  const { items } = await core.listNamespacedSecret({ namespace: "default" });
  const expected = new Map(items.map(({ metadata }) => [metadata?.name, metadata?.resourceVersion]));
  const known = () =>
    new Map(informer.list("default").map(({ metadata }) => [metadata?.name, metadata?.resourceVersion]));
  await expect.poll(known, WAIT).toEqual(expected);
  const seen = await python?.result();
  const report = controller.latest();
  const settled = memory.slice(Math.floor(memory.length * SETTLED_AFTER));
  process.stdout.write(
    `${SECONDS} s, at least ${writes} writes; memory ${memory[0]} MiB at first, ${Math.min(...settled)} to ${Math.max(...settled)} MiB later; ` +
      `kubectl ${watching.map(({ tag, tool }) => `${tag}: ${tool.output().split("\n").length} lines`).join(", ")}; ` +
      `the JavaScript informer had ${errors} errors; the Python one: ${JSON.stringify({ ...seen, known: undefined })}; ` +
      `${BUSY} watches on one connection: ${JSON.stringify(report)}\n`,
  );
  await informer.stop();
  for (const { tool } of watching) tool[Symbol.dispose]();
  const exited = once(controller.child, "exit");
  controller.child.kill();
  await exited;

  expect(report).toMatchObject({ connection: [], endedBusy: 0 });
  expect(Object.keys(report?.statuses ?? {})).toEqual(["200"]);
  expect(report?.fewestEvents).toBeGreaterThan(writes / 2);
  if (seen !== undefined) expect(new Map(Object.entries(seen.known)).size).toBe(expected.size);
  expect(Math.max(...settled) - (settled[0] ?? 0)).toBeLessThan(FLAT_MIB);
});
