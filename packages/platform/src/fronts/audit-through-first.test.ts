import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuditEvent } from "@postern/apiserver/audit/audit-event";
import { createFileAuditSink } from "@postern/apiserver/audit/file-audit-sink";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { expect, it, onTestFinished } from "vitest";
import { createAuditThroughFirst, type SentAudit, writeAudit } from "./audit-through-first.ts";

const read = (auditID: string, path: string, extra: Partial<AuditEvent> = {}): AuditEvent => ({
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID,
  stage: "ResponseComplete",
  requestURI: path,
  verb: "get",
  user: { username: "jane" },
  objectRef: { resource: "secrets" },
  responseStatus: { metadata: {}, code: 200 },
  requestReceivedTimestamp: "2026-01-01T00:00:00.000000Z",
  stageTimestamp: "2026-01-01T00:00:00.000000Z",
  ...extra,
});

/** A log with files of `maxBytes`, and the sink of a further thread. */
async function openLog(maxBytes: number) {
  const folder = await mkdtemp(join(tmpdir(), "audit-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const first = await createFileAuditSink({ path: join(folder, "audit.log"), maxBytes, maxBackups: 1_000 });
  const sent: SentAudit[] = [];
  const clock = { at: 0 };
  const further = createAuditThroughFirst({ elapsed: () => clock.at }, async (message) => {
    sent.push(message);
    return await writeAudit(first, message);
  });
  const write = async (event: AuditEvent): Promise<"counted" | "sent"> => {
    if (further.countOnly?.(event) === true) return "counted";
    await further.write(event);
    return "sent";
  };
  const events = async (): Promise<readonly AuditEvent[]> => {
    await further[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
    return files.flatMap((text) =>
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line)),
    );
  };
  return { first, further, clock, sent, write, events };
}

/** Records of omitted events repeat the ID of the last of them. */
const linesIn = (events: readonly AuditEvent[]): readonly AuditEvent[] =>
  events.filter(({ annotations }) => annotations?.["audit-log/omitted-events"] === undefined);

const omittedIn = (events: readonly AuditEvent[]): number =>
  events.reduce((sum, { annotations }) => sum + Number(annotations?.["audit-log/omitted-events"] ?? 0), 0);

it("counts repeated reads beyond the share without sending them", async () => {
  const log = await openLog(40_000);
  for (let n = 0; n < 200; n++) await log.write(read(`before-${n}`, "/api/v1/secrets/one"));
  const messages = log.sent.length;
  expect(messages).toBeLessThan(60);
  for (let n = 0; n < 100; n++) expect(await log.write(read(`flood-${n}`, "/api/v1/secrets/one"))).toBe("counted");
  expect(await log.write(read("other", "/api/v1/secrets/other"))).toBe("sent");
  expect(await log.write(read("change", "/api/v1/secrets/one", { verb: "update" }))).toBe("sent");
  const events = await log.events();
  const written = linesIn(events).map(({ auditID }) => auditID);
  expect(written).toEqual(expect.arrayContaining(["other", "change"]));
  expect(written.length + omittedIn(events)).toBe(302);
});

it("counts nothing by itself once it has heard nothing for a second", async () => {
  const log = await openLog(40_000);
  for (let n = 0; n < 100; n++) await log.write(read(`flood-${n}`, "/api/v1/secrets/one"));
  expect(await log.write(read("counted", "/api/v1/secrets/one"))).toBe("counted");
  log.clock.at += 1_001;
  expect(await log.write(read("sent", "/api/v1/secrets/one"))).toBe("sent");
  await log.events();
});

it("counts nothing for a file that has ended, once it hears of it", async () => {
  const log = await openLog(40_000);
  for (let n = 0; n < 100; n++) await log.write(read(`flood-${n}`, "/api/v1/secrets/one"));
  // Its first record is due.
  await log.write(read("change", "/api/v1/secrets/one", { verb: "update", user: { username: "john" } }));
  for (let n = 0; n < 9; n++) await log.write(read(`again-${n}`, "/api/v1/secrets/one"));
  for (let n = 0; n < 100; n++)
    await log.write(read(`change-${n}`, "/api/v1/secrets/one", { verb: "update", user: { username: "john" } }));
  await log.write(read("in-new-file", "/api/v1/secrets/one"));
  const written = linesIn(await log.events()).map(({ auditID }) => auditID);
  expect(written).toContain("in-new-file");
});

it("has a record of what was counted every hour", async () => {
  const log = await openLog(400_000);
  const hours = (count: number): Partial<AuditEvent> => ({
    stageTimestamp: new Date(Date.parse("2026-01-01T00:00:00Z") + count * 3_600_000).toISOString(),
  });
  for (let n = 0; n < 400; n++) await log.write(read(`flood-${n}`, "/api/v1/secrets/one"));
  expect(await log.write(read("counted", "/api/v1/secrets/one", hours(2)))).toBe("counted");
  // The count is handed over with the next message, and its answer asks for a whole event.
  await log.write(read("change", "/api/v1/secrets/one", { verb: "update" }));
  expect(await log.write(read("whole", "/api/v1/secrets/one", hours(2)))).toBe("sent");
  const events = await log.events();
  const record = events.findLast(({ annotations }) => annotations?.["audit-log/omitted-events"] !== undefined);
  expect(record).toMatchObject({ auditID: "whole", annotations: { "audit-log/omitted-user": "jane" } });
});

it("writes or counts each event once, and every change, whatever the order", async () => {
  const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 100_000);
  const below = randomNumbers(seed);
  const log = await openLog(60_000);
  const changes: string[] = [];
  let counted = 0;
  for (let n = 0; n < 3_000; n++) {
    const isChange = below(20) === 0;
    const id = `event-${n}`;
    if (isChange) changes.push(id);
    const event = read(id, `/api/v1/secrets/${below(below(3) === 0 ? 100 : 4)}`, {
      user: { username: `user-${below(3)}` },
      verb: isChange ? "update" : "get",
      responseStatus: { metadata: {}, code: !isChange && below(6) === 0 ? 403 : 200 },
    });
    // Both threads write at once.
    if (below(3) === 0) log.first.countOnly?.(event) === true ? counted++ : await log.first.write(event);
    else if ((await log.write(event)) === "counted") counted++;
  }
  const events = await log.events();
  const written = linesIn(events).map(({ auditID }) => auditID);
  expect(new Set(written).size, `seed ${seed}`).toBe(written.length);
  expect(written.length + omittedIn(events), `seed ${seed}`).toBe(3_000);
  expect(written, `seed ${seed}`).toEqual(expect.arrayContaining(changes));
  expect(counted, `seed ${seed}`).toBeGreaterThan(300);
});
