import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHAIN_START, PREVIOUS_LINE_ANNOTATION, TORN_LINE_ANNOTATION } from "@postern/apimachinery/audit/audit-chain";
import { sendJson, startTestServer } from "@postern/client/testing/test-server";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "audit-"));
});
afterEach(() => rm(folder, { recursive: true }));

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

function chain(ids: readonly string[], from = CHAIN_START): string[] {
  let previous = from;
  return ids.map((auditID) => {
    const line = JSON.stringify({ auditID, annotations: { [PREVIOUS_LINE_ANNOTATION]: previous } });
    previous = sha256(line);
    return line;
  });
}

async function fileOf(name: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, lines.map((line) => `${line}\n`).join(""));
  return path;
}

it("follows the chain through several files", async () => {
  const lines = chain(["1", "2", "3"]);
  const files = [await fileOf("audit.log.1", lines.slice(0, 2)), await fileOf("audit.log", lines.slice(2))];
  const { code, stdout } = await runCommand(["audit", "verify", ...files]);
  expect(code).toBe(0);
  expect(stdout).toContain(`${files[0]}: 2 lines, from the first line`);
  expect(stdout).toContain(`last ${sha256(lines[2] ?? "")}`);
  const other = await runCommand(["audit", "verify", ...files.toReversed()]);
  expect(other.code).not.toBe(0);
});

it("names the line that does not fit", async () => {
  const lines = chain(["1", "2", "3"]);
  const path = await fileOf("audit.log", lines.with(1, (lines[1] ?? "").replace('"2"', '"x"')));
  const { code, stdout, stderr } = await runCommand(["audit", "verify", path]);
  expect(code).not.toBe(0);
  expect(stdout).toContain(`${path}:3 does not follow`);
  expect(stderr).toContain("1 of 3 lines");
});

it("a torn end of a file is confirmed by the first line of the next, and is a fault of a file alone", async () => {
  const torn = '{"kind":"Ev';
  const confirming = (previous: string) =>
    JSON.stringify({
      annotations: { [TORN_LINE_ANNOTATION]: "true", [PREVIOUS_LINE_ANNOTATION]: previous },
    });
  const older = await fileOf("audit.log.2", [...chain(["1"]), torn]);
  const empty = await fileOf("audit.log.1", []);
  const newer = await fileOf("audit.log", [confirming(sha256(torn))]);
  const whole = await runCommand(["audit", "verify", older, empty, newer]);
  expect(whole.code).toBe(0);
  expect(whole.stdout).toContain(`${older}:2 was written in part`);
  const alone = await runCommand(["audit", "verify", older]);
  expect(alone.code).not.toBe(0);
  expect(alone.stdout).toContain(`${older}:2 is not complete`);
  const other = await fileOf("other", [confirming(sha256("another part"))]);
  const changed = await runCommand(["audit", "verify", older, other]);
  expect(changed.stdout).toContain(`${older}:2 is not complete`);
  expect(changed.stderr).toContain("2 of 3 lines");
});

it("checks the beginning of what is left against a hash that is known", async () => {
  const path = await fileOf("audit.log", chain(["1"], sha256("before")));
  expect((await runCommand(["audit", "verify", "--from", sha256("before"), path])).code).toBe(0);
  expect((await runCommand(["audit", "verify", "--from", sha256("other"), path])).code).not.toBe(0);
});

it("a known hash detects a truncated log and a log that was started again", async () => {
  const lines = chain(["1", "2", "3", "4"]);
  const third = sha256(lines[2] ?? "");
  const verify = async (of: readonly string[]) =>
    await runCommand(["audit", "verify", "--through", third, await fileOf("audit.log", of)]);
  expect((await verify(lines)).code).toBe(0);
  for (const left of [lines.slice(0, 2), [], chain(["1", "2", "x", "4"])]) {
    const { code, stderr } = await verify(left);
    expect(code).not.toBe(0);
    expect(stderr).toContain(`the line ${third} is missing`);
  }
});

it("says that a file cannot be read", async () => {
  const { code, stderr } = await runCommand(["audit", "verify", join(folder, "none")]);
  expect(code).not.toBe(0);
  expect(stderr).toContain("cannot be read (ENOENT)");
});

it("asks the server without a file, within its limits, and shows the oldest first", async () => {
  await using server = await startTestServer();
  const environment = { POSTERN_URL: server.url, POSTERN_TOKEN: "x", POSTERN_CA: server.certificatePem };
  const record = (time: string, verb: string) => ({
    time,
    key: "ci",
    user: "ben",
    cluster: "",
    verb,
    code: 403,
    object: "o",
    sourceIP: "::1",
  });
  server.respond(({ url }, response) => {
    if (url === "/apis") return sendJson(response, { groups: [{ name: "management.example.com" }] });
    sendJson(response, {
      items: [record("2026-01-02T00:00:00Z", "list"), record("2026-01-01T00:00:00Z", "get")],
      isTruncated: true,
    });
  });
  const search = ["audit", "search", "--key", "ci", "--since", "2026-01-01T00:00:00Z", "--refused", "--limit", "2"];
  const { code, stdout, stderr } = await runCommand([...search, "-o", "json", "--requests"], environment);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).map(({ verb }: any) => verb)).toEqual(["get", "list"]);
  expect(stderr).toMatch(/^only the newest 2 requests/);
  const { searchParams, pathname } = new URL(server.requests.at(-1)?.split(" ")[1] ?? "", server.url);
  expect([pathname, Object.fromEntries(searchParams)]).toEqual([
    "/audit/events",
    { key: "ci", since: "2026-01-01T00:00:00.000Z", refused: "true", limit: "2" },
  ]);
  expect((await runCommand(search, environment)).stdout).toMatch(/^KEY .*\nci +ben +<platform> +2 +2 +get,list /);
  expect((await runCommand(["audit", "search", "--limit", "5001"], environment)).code).toBe(2);
});

it("verifies for programs, too", async () => {
  const lines = chain(["1", "2", "3"]);
  const path = await fileOf("audit.log", lines);
  const whole = await runCommand(["audit", "verify", path, "-o", "json"]);
  const file = { file: path, lines: 3, after: null, last: sha256(lines[2] ?? "") };
  expect([whole.code, whole.stderr, JSON.parse(whole.stdout)]).toEqual([
    ...[0, ""],
    { lines: 3, faults: 0, holdsThrough: true, files: [file], remarkable: [] },
  ]);
  const changed = await fileOf("changed.log", lines.with(1, (lines[1] ?? "").replace('"2"', '"x"')));
  const broken = await runCommand(["audit", "verify", "--through", sha256("none"), changed, "-o", "json"]);
  expect([broken.code, JSON.parse(broken.stdout)]).toMatchObject([
    1,
    { faults: 1, holdsThrough: false, remarkable: [{ file: changed, line: 3, isFault: true }] },
  ]);
});

it("says that the file with the key cannot be read", async () => {
  const { code, stderr } = await runCommand(["audit", "verify", "--key-file", "absent.key", "audit.log"]);
  expect([code, stderr]).toEqual([1, "postern: cannot read the key of the audit log in absent.key (ENOENT)\n"]);
});
