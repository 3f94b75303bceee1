import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { AuditEvent } from "./audit-event.ts";
import { createFileAuditSink } from "./file-audit-sink.ts";
import { packLines, unpackLines } from "./sent-lines.ts";

const event = (auditID: string, extra: object = {}): AuditEvent => ({
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID,
  stage: "ResponseComplete",
  requestURI: "/a\u2028b\n",
  verb: "get",
  user: { username: "jane\ndoe" },
  requestReceivedTimestamp: "2026-01-01T00:00:00.000000Z",
  stageTimestamp: "2026-01-01T00:00:00.000000Z",
  ...extra,
});

const EVENTS: readonly AuditEvent[] = [
  event("bare"),
  event("annotated", { annotations: { a: "1", b: "2\n" } }),
  event("empty", { annotations: {} }),
  { ...event("elsewhere", { annotations: { a: "1" } }), userAgent: "behind" },
  event("absent", { annotations: undefined }),
  event("none", { user: {}, responseStatus: { code: 401 } }),
  event("large", { requestObject: { text: "x".repeat(5_000), number: 1e21, list: [null, true] } }),
];

/** The files that a sink leaves behind, by name. */
async function written(maxBytes: number, write: (sink: Awaited<ReturnType<typeof createFileAuditSink>>) => unknown) {
  const folder = await mkdtemp(join(tmpdir(), "audit-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const sink = await createFileAuditSink({ path: join(folder, "audit.log"), maxBytes });
  await write(sink);
  await sink[Symbol.asyncDispose]();
  const names = (await readdir(folder)).sort();
  return await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")]));
}

// The second limit leaves out most of what one client does, and the third begins new files.
it.each([Number.POSITIVE_INFINITY, 12_000, 6_000])(
  "lines that were sent are written as the events themselves, with files of %s bytes",
  async (maxBytes) => {
    const many = Array.from({ length: 40 }, (_, index) => event(`again-${index}`, { responseStatus: { code: 403 } }));
    const reads = Array.from({ length: 60 }, (_, index) =>
      event(`read-${index}`, { requestURI: `/api/v1/secrets/${index % 20}?n=${index}`, responseStatus: { code: 200 } }),
    );
    const events = [...EVENTS, ...many, ...reads, ...EVENTS];
    const asEvents = await written(maxBytes, (sink) => Promise.all(events.map((each) => sink.write(each))));
    const asLines = await written(maxBytes, (sink) => sink.writeLines?.(unpackLines(packLines(events))));
    expect(asLines).toEqual(asEvents);
    expect(asLines.length).toBeGreaterThan(0);
  },
);

it("has the events, parsed", () => {
  expect(unpackLines(packLines(EVENTS)).map((line) => line.event)).toEqual(EVENTS);
});

it("closes with what was sent before, and refuses what comes later", async () => {
  const lines = unpackLines(packLines(EVENTS));
  let late: Promise<void> | undefined;
  const [[, text = ""] = []] = await written(Number.POSITIVE_INFINITY, async (sink) => {
    void sink.writeLines?.(lines);
    await sink[Symbol.asyncDispose]();
    late = sink.writeLines?.(lines);
    late?.catch(() => undefined);
  });
  expect(text.trimEnd().split("\n")).toHaveLength(EVENTS.length);
  await expect(late).rejects.toThrow("closed");
});
