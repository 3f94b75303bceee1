// The disk of the audit log is full, really: what happens to requests is as the mode says, and the chain holds once there is room again.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
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
  // What is left of the last page of the log is not full yet.
  await expect.poll(async () => errorsOf((await http("/metrics", { key })).text, server.output())).toBeGreaterThan(0);

  expect((await create("while-full")).status).toBe(expected.write);
  expect((await http(PROJECTS, { key })).status).toBe(expected.read);
  await rm(ballast);
  await expect.poll(async () => (await http(PROJECTS, { key })).status).toBe(200);
  const { status } = await http(`${PROJECTS}/while-full`, { key });
  expect(status).toBe(expected.isMade ? 200 : 404);
  expect((await create("after")).status).toBe(201);
  expect(await server.stop()).toBe(0);
  const { stdout } = await postern("audit", "verify", log);
  // A line that was torn is told; what follows it is chained all the same.
  expect(stdout).not.toMatch(/does not follow|has no hash/);
  expect(stdout).toContain("from the first line");
});

/** Of the metrics where they are answered, and of the log where nothing is. */
const errorsOf = (metrics: string, printed: string): number =>
  Number(/apiserver_audit_error_total\{[^}]*\} (\d+)/.exec(metrics)?.[1] ?? 0) +
  (printed.includes("audit event could not be written") ? 1 : 0);
