import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionRecordingItem, SessionRecordingList } from "@postern/api/session-recording";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { describe, expect, it, onTestFinished } from "vitest";
import { openRecordingsDirectory } from "./recordings-directory.ts";
import { recordingsRoutes } from "./recordings-route.ts";

const RECORDINGS = 60;
const FIRST = Date.parse("2026-11-30T08:00:00Z");

async function serveRecordings() {
  const path = await mkdtemp(join(tmpdir(), "postern-recordings-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  const { clock, random } = systemRuntime;
  const limits = { totalBytes: 64 << 20, maxAgeMs: 0 };
  const directory = await openRecordingsDirectory({ path, key: Buffer.alloc(32, 7), limits, clock, random });
  async function add(index: number): Promise<void> {
    const startedAt = FIRST + index * 1_000;
    const [user, project] = [`user-${index % 7}`, `project-${index % 3}`];
    const about = { startTime: new Date(startedAt).toISOString(), user, project };
    const owner = { user, project: `project:${project}` };
    const recording = await directory.create({ auditId: `audit-${index}`, startedAt, about, owner });
    await recording.writer.close();
  }
  for (let index = 0; index < RECORDINGS; index++) await add(index);
  const [route] = recordingsRoutes({ directory });
  async function list(query: string): Promise<SessionRecordingList> {
    const request = { method: "GET", query: new URLSearchParams(query) };
    // The route uses no more of a request.
    const response = (await route?.handle({ request, signal: new AbortController().signal } as never)) as any;
    return JSON.parse(Buffer.from(response.body.bytes ?? response.body).toString());
  }
  async function pages(query: string, between?: () => Promise<void>): Promise<SessionRecordingItem[]> {
    const items: SessionRecordingItem[] = [];
    for (let next: string | undefined = ""; next !== undefined; ) {
      const list_ = await list(next === "" ? query : `${query}&continue=${next}`);
      items.push(...list_.items);
      next = list_.continue;
      await between?.();
    }
    return items;
  }
  return { add, list, pages };
}

describe("the list of recordings", () => {
  it("has each once, the newest first, in pages of any size and with any filter", async () => {
    const { list, pages } = await serveRecordings();
    for (const filter of ["", "user=user-3", "project=project-2", "since=2026-11-30T08:00:20Z", "user=none"]) {
      const { items, continue: next } = await list(filter);
      expect(next).toBeUndefined();
      const times = items.map(({ startTime }) => startTime);
      expect(times).toEqual(times.toSorted().reverse());
      for (const limit of [1, 7, 59, 60, 61]) expect(await pages(`${filter}&limit=${limit}`)).toEqual(items);
    }
    expect((await list("")).items).toHaveLength(RECORDINGS);
    expect((await list("project=project-2")).items).toHaveLength(RECORDINGS / 3);
  });

  it("goes on behind what was listed where others begin meanwhile", async () => {
    const { add, list, pages } = await serveRecordings();
    const { items } = await list("");
    let more = RECORDINGS;
    expect(await pages("limit=7", () => add(more++))).toEqual(items);
  });

  it("refuses a place that no list has named", async () => {
    const { list } = await serveRecordings();
    for (const next of ["x", "..", "20261130T080000000Z-a-b"])
      await expect(list(`continue=${next}`)).rejects.toMatchObject({ code: 400 });
  });
});
