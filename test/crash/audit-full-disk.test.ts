// The disk of the audit log is full, really: what happens to requests is as the mode says, and the chain holds once there is room again.

import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AuditEvent } from "@postern/apiserver/audit/audit-event";
import { createFileAuditSink } from "@postern/apiserver/audit/file-audit-sink";
import { expect, test } from "vitest";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
import { postern, startPostern, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { mountSmallDisk, NO_SMALL_DISK } from "./testing/small-disk.ts";

const PROJECTS = "/apis/management.postern/v1/projects";

test.for<[string, { readonly write: number; readonly read: number; readonly isMade: boolean }]>([
  ["batch", { write: 201, read: 200, isMade: true }],
  ["blocking", { write: 201, read: 200, isMade: true }],
  ["blocking-strict", { write: 500, read: 500, isMade: false }],
])("in the mode %s", async ([mode, expected], { skip }) => {
  await using directory = await temporaryDirectory();
  const folder = join(directory.path, "small");
  await mkdir(folder);
  using disk = mountSmallDisk(folder, 1 << 20);
  if (disk === undefined) return skip(NO_SMALL_DISK);
  const log = join(folder, "audit.log");
  await using server = await startPostern(join(directory.path, "data"), [
    ...["--audit-log-path", log],
    ...["--audit-log-mode", mode],
  ]);
  const [http, key] = [await httpClient(server), await adminKey(server)];
  const create = (name: string) => http(PROJECTS, { key, body: { metadata: { name }, spec: {} } });
  expect((await create("before")).status).toBe(201);
  const ballast = join(folder, "ballast");
  await writeFile(ballast, Buffer.alloc(1 << 20)).catch(() => {});
  // The last page of the log still has room for some records.
  await expect.poll(async () => errorsOf((await http("/metrics", { key })).text, server.output())).toBeGreaterThan(0);

  expect((await create("while-full")).status).toBe(expected.write);
  expect((await http(PROJECTS, { key })).status).toBe(expected.read);
  await rm(ballast);
  await expect.poll(async () => (await http(PROJECTS, { key })).status).toBe(200);
  const { status } = await http(`${PROJECTS}/while-full`, { key });
  expect(status).toBe(expected.isMade ? 200 : 404);
  expect((await create("after")).status).toBe(201);
  expect(await server.stop()).toBe(0);
  const { code, stdout } = await postern("audit", "verify", log);
  // A line that was torn is named, and the next one confirms it.
  expect(stdout).toContain("from the first line");
  expect(code).toBe(0);
  const text = await readFile(log, "utf8");
  expect(/"audit-log\/unwritten-events":"(\d+)"/.exec(text)?.[1]).toBeDefined();
});

test("a line that a full disk tore is confirmed after a kill, also where the file is renamed at that moment", async ({
  skip,
}) => {
  await using directory = await temporaryDirectory();
  const folder = join(directory.path, "small");
  await mkdir(folder);
  using disk = mountSmallDisk(folder, 4 << 20);
  if (disk === undefined) return skip(NO_SMALL_DISK);
  const log = join(folder, "audit.log");
  // Behind this log there is room for less than one event in the last page.
  await writeLog(log, (1 << 20) - PAGE - 300);
  const ballast = join(folder, "ballast");
  await writeFile(ballast, Buffer.alloc(4 << 20)).catch(() => {});
  const start = () => startPostern(join(directory.path, "data"), ["--audit-log-path", log, "--audit-log-maxsize", "1"]);
  {
    await using server = await start();
    const http = await httpClient(server);
    await http("/healthz");
    await expect.poll(() => server.output()).toContain("audit event could not be written");
    await server.stop("SIGKILL");
  }
  expect((await stat(log)).size).toBe((1 << 20) - PAGE);
  await rm(ballast);
  {
    await using server = await start();
    const http = await httpClient(server);
    // Its event does not fit into the file any more.
    await http(`/api?${"labelSelector=a&".repeat(250)}`);
    await expect.poll(() => readdir(folder)).toContain("audit.log.1");
    expect(await server.stop()).toBe(0);
  }
  const { code, stdout } = await postern("audit", "verify", `${log}.1`, log);
  expect(stdout).toContain("audit.log.1:");
  expect(stdout).toContain("was written in part");
  expect([code, stdout.includes("is not complete")]).toEqual([0, false]);
});

const PAGE = 4_096;

/** A log of so many bytes. */
async function writeLog(path: string, bytes: number): Promise<void> {
  const write = async (event: object): Promise<number> => {
    await using sink = await createFileAuditSink({ path });
    await sink.write({ ...EVENT, ...event });
    return (await stat(path)).size;
  };
  const base = await write({});
  let size = base;
  while (bytes - size > 100_000) size = await write({ requestURI: "x".repeat(50_000) });
  size = await write({});
  await write({ requestURI: "x".repeat(bytes - size - base + 1) });
  expect((await stat(path)).size).toBe(bytes);
}

const EVENT: AuditEvent = {
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID: "1",
  stage: "ResponseComplete",
  requestURI: "/",
  verb: "create",
  user: { username: "admin" },
  requestReceivedTimestamp: "",
  stageTimestamp: "",
};

/** Of the metrics where they are answered, and of the log where nothing is. */
const errorsOf = (metrics: string, printed: string): number =>
  Number(/apiserver_audit_error_total\{[^}]*\} (\d+)/.exec(metrics)?.[1] ?? 0) +
  (printed.includes("audit event could not be written") ? 1 : 0);
