import { chmod, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfiguration } from "../../foundation/config/configuration.ts";
import { temporaryDirectory } from "../../testing/temporary-directory.ts";
import { examine } from "./examine.ts";
import { AS_SERVER_USER, remedyOf } from "./finding.ts";

/** Its first server has not started yet. */
async function findingsOf(given: { readonly [flag: string]: string }, environment = {}) {
  const flags = new Map(Object.entries({ "data-dir": join(tmpdir(), "postern-doctor-of-nothing"), ...given }));
  return await examine(await loadConfiguration({ flags, environment, workingDirectory: tmpdir() }), Date.now());
}

async function checksOf(store: string, environment = {}): Promise<readonly string[]> {
  const findings = await findingsOf({ store }, environment);
  return findings.filter(({ status }) => status === "error").map(({ check }) => check);
}

it.each([
  ["looks at an etcd", "etcd://127.0.0.1:1", ["files", "etcd"]],
  ["leaves out a database", "sqlite", ["files"]],
])("%s where the data directory is none", async (_title, store, checks) => {
  expect(await checksOf(store)).toEqual(checks);
});

it.each(["EACCES", "EPERM"])("has nothing moved or restored that belongs to another user (%s)", (code) => {
  expect(remedyOf(code, "move it away")).toBe(AS_SERVER_USER);
  expect([remedyOf("EISDIR", "move it away"), remedyOf(undefined, "x")]).toEqual(["move it away", "x"]);
});

// As EACCES in the directory of another user, and also for the superuser that runs tests in a container.
it("says which file cannot be read where the system refuses to look at the database", async () => {
  await using folder = await temporaryDirectory();
  const database = join(folder.path, "postern.db");
  await symlink("postern.db", database);
  const found = (await findingsOf({ "data-dir": folder.path })).filter(({ check }) => check === "store");
  await rm(database);
  expect(found).toEqual([
    {
      check: "store",
      status: "error",
      message: expect.stringMatching(/postern\.db cannot be read: ELOOP/),
      remedy: "run the doctor as the user that runs the server",
    },
  ]);
});

it("says that the HTTP proxy of the environment cannot be used", async () => {
  expect(await checksOf("sqlite", { HTTPS_PROXY: "socks5://proxy.example" })).toEqual(["options", "files"]);
});

it.each([
  ["https://siem.example.com/events?key=1", "ok", "audit events go to siem.example.com"],
  ["http://siem.example.com:8080", "warning", /is not sent to siem\.example\.com:8080/],
  ["ftp://siem.example.com", "error", /--audit-webhook-config-file .* is no http or https URL/],
])("says of a receiver of audit events at %s: %s", async (server, status, message) => {
  await using folder = await temporaryDirectory();
  const file = join(folder.path, "receiver.kubeconfig");
  const config = {
    clusters: [{ name: "r", cluster: { server } }],
    users: [{ name: "u", user: { token: "the-token" } }],
    contexts: [{ name: "c", context: { cluster: "r", user: "u" } }],
    "current-context": "c",
  };
  await writeFile(file, JSON.stringify(config));
  const findings = (await findingsOf({ "audit-webhook-config-file": file })).filter(
    ({ check }) => check === "audit webhook",
  );
  expect(findings).toMatchObject([{ status, message: expect.stringMatching(message) }]);
  expect(JSON.stringify(findings)).not.toMatch(/the-token|key=1/);
});

it("looks at the directory of recordings", async () => {
  await using folder = await temporaryDirectory();
  const dir = join(folder.path, "recordings");
  const recordings = async (path = dir, mib = "1") =>
    (await findingsOf({ "session-recording-dir": path, "session-recording-max-total-mib": mib })).filter(
      ({ check }) => check === "recordings",
    );
  expect(await recordings()).toMatchObject([
    { status: "skipped", message: expect.stringMatching(/creates it when it starts/) },
  ]);
  await mkdir(dir, { mode: 0o700 });
  expect(await recordings()).toMatchObject([{ status: "ok", message: expect.stringMatching(/MiB are free/) }]);
  expect(await recordings(dir, "1048576")).toMatchObject([
    { status: "warning", message: expect.stringMatching(/is smaller than/) },
  ]);
  await chmod(dir, 0o750);
  expect(await recordings()).toMatchObject([
    { status: "warning", message: expect.stringMatching(/others may enter/) },
    { status: "ok" },
  ]);
  await writeFile(join(folder.path, "file"), "");
  expect(await recordings(join(folder.path, "file"))).toMatchObject([
    { status: "error", message: expect.stringMatching(/is no directory/) },
  ]);
  // A process without root's rights would say the same of a directory that is not its own.
  expect(await recordings("/proc/recordings")).toMatchObject([{ check: "recordings" }]);
});
