import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHAIN_START, createChainReader, PREVIOUS_LINE_ANNOTATION } from "@postern/apimachinery/audit/audit-chain";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAuditChain, lineOf, sha256 } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";
import { createFileAuditSink } from "./file-audit-sink.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "audit-chain-"));
  path = join(folder, "audit.log");
});
afterEach(() => rm(folder, { recursive: true }));

const event = (auditID: string): AuditEvent => ({
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID,
  stage: "ResponseComplete",
  requestURI: `/${"ü".repeat(3)}`,
  verb: "get",
  user: {},
  requestReceivedTimestamp: "",
  stageTimestamp: "",
  annotations: { a: "b" },
});

async function write(ids: readonly string[], options: object = {}): Promise<void> {
  const sink = await createFileAuditSink({ path, ...options });
  await Promise.all(ids.map((id) => sink.write(event(id))));
  await sink[Symbol.asyncDispose]();
}

const linesOf = async (file = path) => (await readFile(file, "utf8")).split("\n").slice(0, -1);

function check(lines: readonly string[], startsAfter?: string) {
  const reader = createChainReader(sha256, startsAfter);
  for (const line of lines) reader.read(line);
  return reader.report();
}

/** A line as it is defined: the hash behind all annotations, and these behind all other members. */
function definedLine({ annotations, ...others }: AuditEvent, head: string): string {
  const chained = stringifyJson({ ...annotations, [PREVIOUS_LINE_ANNOTATION]: head });
  return `${stringifyJson(others).slice(0, -1)},"annotations":${chained}}`;
}

describe("a line of an audit log", () => {
  const { annotations: _, ...bare } = event("1");

  it.each<[string, AuditEvent]>([
    ["with annotations", event("1")],
    ["with many", { ...event("1"), annotations: { "a/b": "{}}", "c/d": '"}}', "e/f": "" } }],
    ["without", bare],
    ["with none at the end", { ...bare, annotations: undefined }],
    ["with no annotation among them", { ...bare, annotations: {} }],
    ["with annotations before other members", { annotations: { a: "b" }, ...bare }],
    ["with the name of the hash", { ...bare, annotations: { [PREVIOUS_LINE_ANNOTATION]: "mine", z: "" } }],
    ["with a body that ends as an empty one does", { ...bare, responseObject: { data: {} } }],
    [
      "with an integer that a number cannot hold",
      { ...bare, requestObject: { big: 2n ** 63n }, annotations: { a: "b" } },
    ],
  ])("is the same text however it is written: %s", (_, given) => {
    const lines = createAuditChain()
      .linesOf([lineOf(given), lineOf(given)])
      .text.split("\n");
    const first = definedLine(given, CHAIN_START);
    expect(lines).toEqual([first, definedLine(given, sha256(first)), ""]);
  });
});

describe("the chain of an audit log", () => {
  it("holds over writes at once and restarts", async () => {
    await write(["1", "2", "3"]);
    await write(["4"]);
    await write(Array.from({ length: 50 }, (_, at) => `more-${at}`));
    expect(check(await linesOf(), CHAIN_START)).toMatchObject({ lines: 54, faults: [], startsAfter: CHAIN_START });
  });

  it("continues in the next file", async () => {
    for (let at = 0; at < 10; at++) await write([`${at}`], { maxBytes: 1000, maxBackups: 20 });
    const files = [5, 4, 3, 2, 1].map((number) => `${path}.${number}`).concat(path);
    const all: string[] = [];
    for (const file of files) all.push(...(await linesOf(file).catch(() => [])));
    expect(all).toHaveLength(10);
    expect(check(all, CHAIN_START).faults).toEqual([]);
  });

  it.each<[string, (lines: string[]) => string[], number]>([
    ["a line is changed", (lines) => lines.with(1, (lines[1] ?? "").replace('"get"', '"put"')), 3],
    ["a line is gone", (lines) => lines.toSpliced(1, 1), 2],
    ["two lines have changed places", (lines) => [lines[1], lines[0], ...lines.slice(2)] as string[], 2],
    ["a line is put in", (lines) => lines.toSpliced(1, 0, lines[0] ?? ""), 2],
  ])("reports that %s", async (_what, change, line) => {
    await write(["1", "2", "3", "4"]);
    const { faults } = check(change(await linesOf()));
    expect(faults[0]).toEqual({ line, fault: "broken" });
  });

  it("continues after an incomplete line of a killed process", async () => {
    await write(["1", "2"]);
    await appendFile(path, '{"kind":"Ev');
    await write(["3"]);
    expect(check(await linesOf())).toMatchObject({ faults: [], torn: [3] });
  });

  it("finds the end of a line longer than what is read at once", async () => {
    const long = `{"kind":"Event","annotations":{"x":"${"y".repeat(200_000)}"}}`;
    await writeFile(path, `${long}\n`);
    await write(["1"]);
    expect(check(await linesOf()).faults).toEqual([{ line: 1, fault: "not-chained" }]);
  });
});
