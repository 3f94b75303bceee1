import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { createSignInRecords } from "./sign-in-records.ts";

const PREFIX = "/registry/test/internal/sign-ins/";

async function recordsAt(clock: { now(): number }) {
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const sealed = { seal: (text: string) => text, open: (text: string) => text };
  const records = createSignInRecords({ view: cache.view(PREFIX), prefix: PREFIX, storage }, sealed as never, {
    ...systemRuntime.clock,
    ...clock,
  });
  return {
    records,
    ask: (from: string, code: string, until = 1_000) =>
      records.putDevice({ deviceCode: `device-${code}`, userCode: `user-${code}`, from }, until),
    bytes: () =>
      cache
        .view(PREFIX)
        .list(PREFIX)
        .reduce((sum, { storedBytes }) => sum + storedBytes, 0),
    /** Whether both of its codes are known. */
    waits: async (code: string) =>
      (await records.read("device", `device-${code}`)) !== undefined &&
      (await records.read("user-code", `user-${code}`)) !== undefined,
    [Symbol.asyncDispose]: () => cache[Symbol.asyncDispose](),
  };
}

it("gives a device code to another address when a flood holds all of them (security book 50)", async () => {
  await using device = await recordsAt({ now: () => 0 });
  expect(await device.ask("203.0.113.1", "mine")).toBe(true);
  // 2,000 wait at most.
  for (let count = 0; count < 2_100; count++) {
    expect(await device.ask(`2001:db8:0:${(count % 110).toString(16)}::${count}`, String(count))).toBe(true);
  }
  expect(await device.ask("203.0.113.2", "theirs")).toBe(true);
  expect(await Promise.all(["mine", "theirs", "0", "2099"].map((code) => device.waits(code)))).toEqual([
    true,
    true,
    false,
    true,
  ]);
  // Users who have signed in have places of their own.
  expect(await device.records.put("pending", "secret", {}, 1_000, "jane")).toBe(true);
});

it("counts neither codes that were used nor those that have expired as waiting", async () => {
  let now = 0;
  await using device = await recordsAt({ now: () => now });
  for (let count = 0; count < 2_000; count++) await device.ask("203.0.113.1", String(count), count < 10 ? 500 : 1_000);
  await device.ask("203.0.113.2", "other");
  for (const code of ["1", "2"]) {
    await device.records.take("device", `device-${code}`);
    await device.records.take("user-code", `user-${code}`);
  }
  for (let count = 0; count < 10; count++) expect(await device.ask("203.0.113.3", `new-${count}`)).toBe(true);
  expect([await device.waits("other"), await device.waits("1999"), await device.waits("new-9")]).toEqual([
    true,
    true,
    true,
  ]);
  now = 600;
  expect(await device.waits("9")).toBe(false);
  expect(await device.ask("203.0.113.4", "last")).toBe(true);
  expect(await device.waits("other")).toBe(true);
});

const large = { groups: Array.from({ length: 1_000 }, (_, number) => `${"g".repeat(99)}${number}`) };

it("lets the oldest sign-ins of the user with the most of them make way, however large they are", async () => {
  await using device = await recordsAt({ now: () => 0 });
  const { records } = device;
  expect(await records.put("pending", "mine", large, 1_000, "jane")).toBe(true);
  for (let count = 0; count < 400; count++) {
    expect(await records.put(count % 2 === 0 ? "pending" : "code", `flood-${count}`, large, 1_000, "flood")).toBe(true);
  }
  expect(await records.read("pending", "mine")).toBeDefined();
  expect(await records.read("pending", "flood-0")).toBeUndefined();
  expect(await records.read("code", "flood-399")).toBeDefined();
  expect(await records.put("pending", "theirs", large, 1_000, "joe")).toBe(true);
  expect(device.bytes()).toBeLessThanOrEqual(16 << 20);
});

it("counts what users confirm for other devices", async () => {
  await using device = await recordsAt({ now: () => 0 });
  const { records } = device;
  for (let count = 0; count < 400; count++) {
    await device.ask(`203.0.113.${count % 200}`, String(count));
    const before = await records.read("device", `device-${count}`);
    expect(before && (await records.replace("device", `device-${count}`, before, large, "flood"))).toBe(true);
  }
  // The codes themselves are small, and have a number of their own.
  expect(device.bytes()).toBeLessThanOrEqual((16 << 20) + 4_000 * 512);
});
