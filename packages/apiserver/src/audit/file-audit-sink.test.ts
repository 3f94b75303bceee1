import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
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
  const size = Buffer.byteLength(`${JSON.stringify(event("0", { ...chained, user, verb: "create" }))}\n`);
  const sink = await createFileAuditSink({ path, maxBytes: 2 * size, maxBackups: 2 });
  for (const id of "123456789") await sink.write(event(id, { user, verb: "create" }));
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
    await sink.write(event(`admin-${n}`, { user: { username: "admin" }, verb: "create" }));
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
    expect(verify(lines.slice(0, 2))).toMatchObject({ faults: [], torn: [], tornEnd: { lines: [2] } });
    expect(verify(lines.toSpliced(1, 1)).faults).toEqual([{ line: 2, fault: "broken" }]);
  },
);

const KEY = new Uint8Array(32).fill(7);
const textsOf = async (file: string): Promise<readonly string[]> =>
  (await readFile(file, "utf8")).trimEnd().split("\n");

/** Verifies files as `postern audit verify` does. */
async function verifyFiles(files: readonly string[], key?: Uint8Array) {
  const faults: string[] = [];
  const torn: string[] = [];
  let [head, end]: [string, ReturnType<ReturnType<typeof createChainReader>["report"]>["tornEnd"]] = [
    CHAIN_START,
    undefined,
  ];
  for (const file of files) {
    const reader = createChainReader(sha256, head, undefined, key && hmacWith(key), end);
    for (const text of await textsOf(file)) reader.read(text);
    const report = reader.report();
    faults.push(...report.faults.map(({ line, fault }) => `${line} ${fault}`));
    torn.push(...report.torn.map(String));
    [head, end] = [report.endsWith, report.tornEnd];
  }
  if (end !== undefined) faults.push("end");
  return { faults, torn };
}

it.each([
  ["without a key", undefined],
  ["with a key", KEY],
])("a torn end of a file that is renamed before the next line is confirmed by the next file, %s", async (_, key) => {
  const options = { path, maxBytes: 1_200, ...(key === undefined ? {} : { key }) };
  const user = { username: "admin" };
  const first = await createFileAuditSink(options);
  for (const id of ["1", "2"]) await first.write(event(id, { user }));
  await first[Symbol.asyncDispose]();
  // Cut within a character of several bytes.
  const part = Buffer.from('{"kind":"Event","auditID":"h\u00e4').subarray(0, -1);
  await writeFile(path, Buffer.concat([await readFile(path), part, Buffer.from("x".repeat(500))]));
  const second = await createFileAuditSink(options);
  await second.write(event("3", { user }));
  await second[Symbol.asyncDispose]();
  expect((await readdir(folder)).sort()).toEqual(["audit.log", "audit.log.1"]);
  expect(await verifyFiles([`${path}.1`, path], key)).toEqual({ faults: [], torn: ["0"] });
  expect((await verifyFiles([`${path}.1`], key)).faults).toEqual(["end"]);
  await writeFile(`${path}.1`, (await readFile(`${path}.1`, "utf8")).replace("auditID", "auditid"));
  expect((await verifyFiles([`${path}.1`, path], key)).faults).not.toEqual([]);
});

it("a server that ends between the new name of a file and its next line goes on all the same", async () => {
  const first = await createFileAuditSink({ path });
  await first.write(event("1", { user: { username: "admin" } }));
  await first[Symbol.asyncDispose]();
  await writeFile(`${path}.1`, `${await readFile(path, "utf8")}{"half":`);
  await writeFile(path, "");
  const second = await createFileAuditSink({ path });
  await second.write(event("2"));
  await second[Symbol.asyncDispose]();
  expect(await verifyFiles([`${path}.1`, path])).toEqual({ faults: [], torn: ["0"] });
});

it("several torn lines in a row are confirmed together", async () => {
  const first = await createFileAuditSink({ path });
  await first.write(event("1"));
  await first[Symbol.asyncDispose]();
  await writeFile(path, `${await readFile(path, "utf8")}{"a":\n\n{"b":\n{"c":`);
  for (const id of ["2", "3"]) {
    const sink = await createFileAuditSink({ path });
    await sink.write(event(id));
    await sink[Symbol.asyncDispose]();
  }
  expect(await verifyFiles([path])).toEqual({ faults: [], torn: ["2", "3", "4", "5"] });
  await writeFile(path, (await readFile(path, "utf8")).replace('{"a":\n', '{"A":\n'));
  expect((await verifyFiles([path])).faults).not.toEqual([]);
});

it("a rename that fails loses no file, and the events that were not written are counted", async () => {
  const user = { username: "admin" };
  const sink = await createFileAuditSink({ path, maxBytes: 400, maxBackups: 3 });
  for (const id of ["1", "2", "3"]) await sink.write(event(id, { user, verb: "create" }));
  const before = (await readdir(folder)).sort();
  // Where the next file should be is a folder.
  await mkdir(`${path}.next`);
  for (let n = 0; n < 20; n++) await expect(sink.write(event(`lost-${n}`, { user, verb: "create" }))).rejects.toThrow();
  expect((await readdir(folder)).sort()).toEqual([...before, "audit.log.next"].sort());
  await rm(`${path}.next`, { recursive: true });
  await sink.write(event("4", { user, verb: "create" }));
  await sink[Symbol.asyncDispose]();
  expect(await readdir(folder)).toContain("audit.log.3");
  const [record = "", last = ""] = await textsOf(path);
  expect(JSON.parse(record).annotations).toMatchObject({ "audit-log/unwritten-events": "20" });
  expect(JSON.parse(last)).toMatchObject({ auditID: "4" });
  expect((await verifyFiles([`${path}.3`, `${path}.2`, `${path}.1`, path])).faults).toEqual([]);
});

it("goes on after a rename that was done by half", async () => {
  const user = { username: "admin" };
  const sink = await createFileAuditSink({ path, maxBytes: 400 });
  for (const id of ["1", "2"]) await sink.write(event(id, { user, verb: "create" }));
  // As if the step behind had failed.
  await rename(`${path}.1`, `${path}.2`);
  await rename(path, `${path}.1`);
  await sink.write(event("3", { user, verb: "create" }));
  await sink[Symbol.asyncDispose]();
  expect((await readdir(folder)).sort()).toEqual(["audit.log", "audit.log.1", "audit.log.2"]);
  expect((await verifyFiles([`${path}.2`, `${path}.1`, path])).faults).toEqual([]);
});

it("keeps all files where their number has no limit", async () => {
  const sink = await createFileAuditSink({ path, maxBytes: 300, maxBackups: Number.MAX_SAFE_INTEGER });
  for (let n = 0; n < 15; n++) await sink.write(event(`${n}`, { user: { username: "admin" }, verb: "create" }));
  await sink[Symbol.asyncDispose]();
  expect(await readdir(folder)).toHaveLength(15);
});

const AT = { stageTimestamp: "2026-01-01T00:00:00.000000Z" };

/** The rest of a log whose files hold 32 KiB, after a flood of 2,000 events. */
async function afterFlood(flood: (n: number) => object) {
  const sink = await createFileAuditSink({ path, maxBytes: 32 * 1024, maxBackups: 1 });
  await sink.write(event("privileged", { user: { username: "admin" }, verb: "delete" }));
  for (let n = 0; n < 2_000; n++)
    await sink.write(event(`flood-${n}`, { user: { username: "user" }, ...AT, ...flood(n) }));
  await sink[Symbol.asyncDispose]();
  const files = (await readdir(folder)).sort().reverse();
  const events = (await Promise.all(files.map((file) => textsOf(join(folder, file)))))
    .flat()
    .map((line) => JSON.parse(line));
  const omitted = events.reduce(
    (sum, { annotations }) => sum + Number(annotations["audit-log/omitted-events"] ?? 0),
    0,
  );
  const has = (id: string) =>
    events.some(({ auditID, annotations }) => auditID === id && annotations["audit-log/omitted-events"] === undefined);
  return { events, omitted, has };
}

const read = (n: number) => ({
  requestURI: `/api/v1/secrets?x=${n}`,
  objectRef: { resource: "secrets" },
  responseStatus: { code: 200 },
});

it.each<[string, (n: number) => object]>([
  ["refusals", (n) => ({ requestURI: `/api/v1/secrets/${n}`, responseStatus: { code: 403 } })],
  ["objects that are not there", (n) => ({ requestURI: `/api/v1/secrets/${n}`, responseStatus: { code: 404 } })],
  ["refused writes", (n) => ({ verb: "create", requestURI: `/${n}`, responseStatus: { code: 422 } })],
  ["one read again and again", read],
  ["different reads", (n) => ({ ...read(n), requestURI: `/api/v1/namespaces/${n}/secrets` })],
  [
    "tokens of many ServiceAccounts of one cluster",
    (n) => ({ ...read(n), user: { username: `system:serviceaccount:a:${n}` } }),
  ],
  [
    "certificates of one cluster with many names",
    (n) => ({
      ...read(n),
      user: { username: `user-${n}` },
      annotations: { "authentication.kubernetes.io/credential-id": `certificate:${n}` },
    }),
  ],
])("one client with a credential cannot push out records of others: %s", async (_, flood) => {
  const { has, omitted, events } = await afterFlood(flood);
  expect(has("privileged")).toBe(true);
  expect(has("flood-0")).toBe(true);
  expect(omitted + events.filter(({ auditID }) => auditID.startsWith("flood")).length).toBeGreaterThanOrEqual(2_000);
  expect(
    events.find(({ annotations }) => annotations["audit-log/omitted-events"])?.annotations["audit-log/omitted-user"],
  ).toMatch(/^user$|^system:serviceaccounts/);
});

it.each<[string, object]>([
  ["a change", { verb: "delete", requestURI: "/api/v1/secrets/s", responseStatus: { code: 200 } }],
  ["a read that differs", { ...read(0), requestURI: "/api/v1/secrets/s" }],
  [
    "the same read with another credential",
    { ...read(0), annotations: { "authentication.kubernetes.io/credential-id": "other" } },
  ],
  ["the same read from another address", { ...read(0), sourceIPs: ["10.0.0.9"] }],
  ["the same read as another user", { ...read(0), impersonatedUser: { username: "victim" } }],
  ["a connection", { ...read(0), verb: "get", objectRef: { resource: "pods", subresource: "exec" } }],
  [
    "a credential that is issued",
    { ...read(0), verb: "get", objectRef: { resource: "virtualclusterinstances", subresource: "kubeconfig" } },
  ],
  ["an answer that failed in the server", { verb: "create", responseStatus: { code: 504 } }],
])("no client can hide %s behind a flood of its own", async (_, hidden) => {
  const { has } = await afterFlood((n) => (n === 1_500 ? hidden : read(n)));
  expect(has("flood-1500")).toBe(true);
});
