import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { followAccounts } from "../store/record-accounts.ts";
import { accountOfTakenToken, markTokenUsed } from "./used-tokens.ts";

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
