// Errors that nothing catches, in a server as users start it: it goes on, and gives up cleanly where they keep occurring.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, httpClient, openResponse } from "./testing/http-client.ts";
import {
  ENTRY,
  NODE,
  type PosternProcess,
  postern,
  REPOSITORY,
  startPostern,
  temporaryDirectory,
} from "./testing/postern-process.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const PRELOAD = fileURLToPath(new URL("testing/failing-process.mjs", import.meta.url));
const FAILING = { env: { NODE_OPTIONS: `--import=${PRELOAD}` } };

const errorsIn = (server: PosternProcess): readonly any[] =>
  server
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.includes('"unexpected error"'))
    .map((line) => JSON.parse(line));

const GIVEN_UP = "unexpected errors keep occurring, stopping";

/** Resolves when both errors are in the log, or when the first of them was one too many: the server may end before the second. */
async function fail(server: PosternProcess): Promise<void> {
  const before = errorsIn(server).length;
  process.kill(server.pid, "SIGUSR2");
  await expect.poll(() => errorsIn(server).length === before + 2 || server.output().includes(GIVEN_UP)).toBe(true);
}

describe.each(["sqlite", "etcd"])("on %s", (store) => {
  const missing = store === "etcd" ? whyNoEtcd() : undefined;
  let etcd: EtcdCluster | undefined;
  let flags: readonly string[] = ["--store", store];

  beforeAll(async () => {
    if (store !== "etcd" || missing !== undefined) return;
    etcd = await startEtcd();
    flags = ["--store", `etcd://${etcd.endpoints[0]}`, "--etcd-new-installation"];
  });
  afterAll(() => etcd?.[Symbol.asyncDispose]());

  it.skipIf(missing !== undefined)(
    "an error ends nothing: requests, watches and writes go on, and it is logged and counted once",
    async () => {
      await using directory = await temporaryDirectory();
      await using server = await startPostern(directory.path, flags, FAILING);
      const [http, key] = [await httpClient(server), await adminKey(server)];
      const watch = await openResponse(server, `${KEYS}?watch=true`, key);
      await fail(server);
      expect(errorsIn(server)).toMatchObject([
        { component: "unhandled-rejection", error: { message: "a rejected promise" } },
        { component: "uncaught-exception", error: { message: "a timer that throws" } },
      ]);
      const metrics = (await http("/metrics", { key })).text;
      for (const component of ["unhandled-rejection", "uncaught-exception"])
        expect(metrics).toContain(`apiserver_unexpected_errors_total{component="${component}"} 1\n`);
      expect((await http(KEYS, { key, body: { metadata: { name: "after" }, spec: {} } })).status).toBe(201);
      await expect.poll(() => watch.text()).toContain('"name":"after"');
      expect((await http("/livez")).status).toBe(200);
      expect(await server.stop()).toBe(0);
    },
  );

  it.skipIf(missing !== undefined)(
    "errors that keep occurring end it cleanly, with an exit code that restarts it",
    async () => {
      await using directory = await temporaryDirectory();
      const own = store === "etcd" ? [...flags, "--etcd-prefix", "/repeated"] : flags;
      const server = await startPostern(directory.path, own, FAILING);
      await using _ = server;
      const [http, key] = [await httpClient(server), await adminKey(server)];
      const watch = await openResponse(server, `${KEYS}?watch=true`, key);
      const made: string[] = [];
      // Ten at most are needed: two errors may fall into two seconds.
      for (let second = 1; second <= 20 && !server.output().includes(GIVEN_UP); second++) {
        const name = `made-${second}`;
        const body = { metadata: { name }, spec: {} };
        // 0: it ends already.
        const status = await http(KEYS, { key, body }).then(
          (answer) => answer.status,
          () => 0,
        );
        if (status === 0) break;
        // 503: it stops, or the seconds that each signal lets pass make what it heard of etcd look old.
        expect([201, 503]).toContain(status);
        if (status === 201) made.push(name);
        await fail(server);
      }
      expect(made.length).toBeGreaterThan(2);
      await watch.ended;
      expect(await server.exited).toBe(1);
      expect(server.output()).toContain(GIVEN_UP);
      expect(await postern("audit", "verify", join(directory.path, "audit.log"))).toMatchObject({ code: 0 });

      await using next = await startPostern(
        directory.path,
        own.filter((flag) => flag !== "--etcd-new-installation"),
      );
      const again = await httpClient(next);
      for (const name of made) expect((await again(`${KEYS}/${name}`, { key })).status, name).toBe(200);
      expect(await next.stop()).toBe(0);
    },
  );
});

it("a reader of the log that ends does not end the server", async () => {
  await using directory = await temporaryDirectory();
  const flags = ["--data-dir", directory.path, "--secure-port", "0", "--store", "memory", "--audit-log-path", "-"];
  const child = spawn(NODE, [ENTRY, "serve", ...flags], {
    cwd: REPOSITORY,
    env: { PATH: process.env["PATH"], HOME: directory.path, POSTERN_LOG_LEVEL: "debug" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
  await expect.poll(() => printed).toMatch(/ready at \S+/);
  const [, url = ""] = /ready at (\S+)/.exec(printed) ?? [];
  child.stdout.destroy();
  child.stderr.destroy();
  const http = await httpClient({ url, caFile: join(directory.path, "ca.crt") });
  for (let request = 0; request < 50; request++) expect((await http("/version")).status).toBe(200);
  expect(child.exitCode).toBeNull();
  child.kill("SIGTERM");
  expect((await exited)[0]).toBe(0);
});
