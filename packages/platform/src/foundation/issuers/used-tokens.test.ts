import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { followAccounts } from "../store/record-accounts.ts";
import { accountOfTakenToken, createTakenTokenReaper, markTokenUsed } from "./used-tokens.ts";

const prefix = "/registry/test/internal/taken-tokens/";

it("remembers so many tokens of a project, refuses more, and takes those of other projects and issuers", async () => {
  const storage = createMemoryStorage();
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const view = cache.view(prefix);
  using accounts = followAccounts({ view, prefix }, systemRuntime.scheduler, accountOfTakenToken);
  const records = { view, prefix, storage, accounts };
  const mark = (project: string | undefined, id: string) =>
    markTokenUsed(records, { source: { issuer: "https://ci", id: "ci" }, project } as never, id, 1e15);

  expect(await mark("team", "0")).toBe(true);
  for (let count = accounts.of("project team").objects; count < 10_000; count++) accounts.add("project team", 1, 1);
  await expect(mark("team", "1")).rejects.toMatchObject({
    code: 403,
    message: expect.stringContaining("project team has 10000 tokens"),
  });
  expect(await mark("other", "1")).toBe(true);
  expect(await mark(undefined, "2")).toBe(true);
  // Whatever the rule, a token is taken once.
  expect(await mark("other", "0")).toBe(false);
  for (const { key, revision } of (await storage.list(prefix)).entries) await storage.delete(key, revision);
  await expect.poll(() => accounts.of("project other").objects).toBe(0);
});

it("refuses a token whose record is gone, after the clock went back, also on a server that starts then", async () => {
  const HOUR = 60 * 60_000;
  const clock = { at: Date.parse("2030-01-01T12:00:00Z") };
  const { scheduler } = systemRuntime;
  const runtime = { ...systemRuntime, clock: { now: () => clock.at, elapsed: () => systemRuntime.clock.elapsed() } };
  const storage = createMemoryStorage();
  const serve = async (
    use: (mark: (id: string, end: number, issuer?: string) => Promise<boolean>, records: any) => unknown,
  ) => {
    await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler });
    await cache.ready();
    const view = cache.view(prefix);
    using accounts = followAccounts({ view, prefix }, scheduler, accountOfTakenToken);
    const records = { view, prefix, storage, accounts };
    const mark = (id: string, end: number, issuer = "https://ci") =>
      markTokenUsed(records, { source: { issuer, id: "ci" }, project: "team" } as never, id, end);
    await use(mark, records);
  };
  const ends = Array.from({ length: 20 }, (_, at) => clock.at + at * 60_000);
  const last = ends.at(-1) ?? 0;
  await serve(async (mark, records) => {
    for (const [id, end] of ends.entries()) expect(await mark(`${id}`, end)).toBe(true);
    clock.at = last + HOUR;
    const errors: unknown[] = [];
    using _reaper = createTakenTokenReaper({ runtime, onError: (error) => errors.push(error) }, records);
    // One mark of the source is left.
    await expect.poll(async () => (await storage.list(prefix)).entries.length).toBe(1);
    expect(errors).toEqual([]);
    clock.at = last - HOUR;
    expect(await mark("3", last)).toBe(false);
  });
  await serve(async (mark) => {
    expect(await mark("5", ends[5] ?? 0)).toBe(false);
    // Tokens that live longer, and those of other issuers, are taken.
    expect(await mark("later", last + HOUR)).toBe(true);
    expect(await mark("5", ends[5] ?? 0, "https://other")).toBe(true);
  });
});
