import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHAIN_START, createChainReader, PREVIOUS_LINE_ANNOTATION } from "@postern/apimachinery/audit/audit-chain";
import { afterEach, beforeEach, expect, it } from "vitest";
import { hmacWith, sha256 } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";
import { createFileAuditSink } from "./file-audit-sink.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "audit-"));
  path = join(folder, "audit.log");
});
afterEach(() => rm(folder, { recursive: true }));

const event = (auditID: string, extra: object = {}): AuditEvent => ({
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID,
  stage: "ResponseComplete",
  requestURI: "/",
  verb: "get",
  user: {},
  requestReceivedTimestamp: "",
  stageTimestamp: "",
  ...extra,
});

const idsIn = async (file: string): Promise<string[]> =>
  (await readFile(file, "utf8")).split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).auditID]));

it("keeps every event in order, also those that are waiting when it is closed", async () => {
  const sink = await createFileAuditSink({ path });
  const ids = Array.from({ length: 500 }, (_, number) => `id-${number}`);
  const writes = ids.map((id) => sink.write(event(id)));
  await sink[Symbol.asyncDispose]();
  await Promise.all(writes);
  expect(await idsIn(path)).toEqual(ids);
  await expect(sink.write(event("late"))).rejects.toThrow("closed");
});

it("is readable for its owner alone, also where the file was there before", async () => {
  await writeFile(path, "");
  await chmod(path, 0o644);
  await (await createFileAuditSink({ path }))[Symbol.asyncDispose]();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it("appends to an existing file, on a new line", async () => {
  await writeFile(path, `${JSON.stringify(event("old"))}\n{"half":`);
  const sink = await createFileAuditSink({ path });
  await sink.write(event("new"));
  await sink[Symbol.asyncDispose]();
  const lines = (await readFile(path, "utf8")).split("\n");
  expect([lines.length, lines[1], JSON.parse(lines[2] ?? "").auditID]).toEqual([4, '{"half":', "new"]);
});

it("begins a new file before one grows too large, and keeps as many as asked", async () => {
  const chained = { annotations: { [PREVIOUS_LINE_ANNOTATION]: CHAIN_START } };
  const user = { username: "admin" };
  const size = Buffer.byteLength(`${JSON.stringify(event("0", { ...chained, user }))}\n`);
  const sink = await createFileAuditSink({ path, maxBytes: 2 * size, maxBackups: 2 });
  for (const id of "123456789") await sink.write(event(id, { user }));
  await sink[Symbol.asyncDispose]();
  expect((await readdir(folder)).sort()).toEqual(["audit.log", "audit.log.1", "audit.log.2"]);
  expect(await idsIn(path)).toEqual(["9"]);
  expect(await idsIn(`${path}.1`)).toEqual(["7", "8"]);
  expect(await idsIn(`${path}.2`)).toEqual(["5", "6"]);
});

it("writes large integers as they are", async () => {
  const sink = await createFileAuditSink({ path });
  await sink.write(event("big", { requestObject: { n: 9007199254740993n } }));
  await sink[Symbol.asyncDispose]();
  expect(await readFile(path, "utf8")).toContain('"n":9007199254740993');
});

it("cannot be opened in a missing folder", async () => {
  await expect(createFileAuditSink({ path: join(folder, "none", "audit.log") })).rejects.toThrow("ENOENT");
});

it("requests without a credential cannot push out records of those with one, and are counted", async () => {
  const maxBytes = 16 * 1024;
  const sink = await createFileAuditSink({ path, maxBytes, maxBackups: 1 });
  const at = (second: number) => ({ stageTimestamp: new Date(second * 1000).toISOString() });
  await sink.write(event("privileged", { user: { username: "admin" }, ...at(0) }));
  for (let n = 1; n <= 2_000; n++)
    await sink.write(event(`anonymous-${n}`, { user: n % 2 === 0 ? {} : { username: "system:anonymous" }, ...at(n) }));
  await sink.write(event("after", { user: { username: "admin" }, ...at(9_000) }));
  await sink[Symbol.asyncDispose]();
  expect(await readdir(folder)).toEqual(["audit.log"]);
  const text = await readFile(path, "utf8");
  const events = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const ids = events.map(({ auditID }) => auditID);
  expect(ids).toContain("privileged");
  expect(ids).toContain("after");
  expect(ids).toContain("anonymous-1");
  const recorded = events.filter(
    ({ user }) => user.username === undefined || user.username === "system:anonymous",
  ).length;
  const omitted = events.reduce(
    (sum, { annotations }) => sum + Number(annotations["audit-log/omitted-events"] ?? 0),
    0,
  );
  expect(recorded + omitted).toBe(2_000);
  expect(text.length).toBeLessThan(maxBytes);
  // The chain is whole.
  const reader = createChainReader(sha256, CHAIN_START);
  for (const line of text.trimEnd().split("\n")) reader.read(line);
  expect(reader.report().faults).toEqual([]);
});

it("each file has room for requests without a credential, and says how many were left out of the one before", async () => {
  const sink = await createFileAuditSink({ path, maxBytes: 8 * 1024, maxBackups: 50 });
  for (let n = 0; n < 400; n++) {
    await sink.write(event(`anonymous-${n}`, { stageTimestamp: "2026-01-01T00:00:00.000000Z" }));
    await sink.write(event(`admin-${n}`, { user: { username: "admin" } }));
  }
  await sink[Symbol.asyncDispose]();
  const files = await readdir(folder);
  const lines = (await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")))).flatMap((text) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );
  const of = (start: string) =>
    lines.filter(
      ({ auditID, annotations }) => auditID.startsWith(start) && annotations["audit-log/omitted-events"] === undefined,
    ).length;
  const omitted = lines.reduce((sum, { annotations }) => sum + Number(annotations["audit-log/omitted-events"] ?? 0), 0);
  expect([of("admin"), of("anonymous") + omitted]).toEqual([400, 400]);
  expect(of("anonymous")).toBeGreaterThan(50);
  expect(omitted).toBeGreaterThan(50);
});

it("leaves nothing out of a log that is never renamed", async () => {
  const sink = await createFileAuditSink({ path });
  for (let n = 0; n < 100; n++) await sink.write(event(`anonymous-${n}`));
  await sink[Symbol.asyncDispose]();
  expect(await idsIn(path)).toHaveLength(100);
});

it.each([undefined, new Uint8Array(32).fill(7)])(
  "goes on behind a line that was written in part, and verification names it",
  async (key) => {
    const options = { path, ...(key === undefined ? {} : { key }) };
    const first = await createFileAuditSink(options);
    await first.write(event("before"));
    await first[Symbol.asyncDispose]();
    await writeFile(path, `${await readFile(path, "utf8")}{"kind":"Event","auditID":"hal`);
    for (const id of ["after", "later"]) {
      const sink = await createFileAuditSink(options);
      await sink.write(event(id));
      await sink[Symbol.asyncDispose]();
    }
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    const verify = (texts: readonly string[]) => {
      const reader = createChainReader(sha256, CHAIN_START, undefined, key && hmacWith(key));
      for (const line of texts) reader.read(line);
      return reader.report();
    };
    expect(verify(lines)).toMatchObject({ lines: 4, faults: [], torn: [2] });
    // Of a part that was changed, removed, or never confirmed, it tells as before.
    expect(verify(lines.with(1, '{"kind":"Ev')).faults).toEqual([
      { line: 2, fault: "not-json" },
      { line: 3, fault: "broken" },
    ]);
    expect(verify(lines.slice(0, 2)).faults).toEqual([{ line: 2, fault: "not-json" }]);
    expect(verify(lines.toSpliced(1, 1)).faults).toEqual([{ line: 2, fault: "broken" }]);
  },
);
