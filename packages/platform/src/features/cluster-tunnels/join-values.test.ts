import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it, vi } from "vitest";
import { createRecordReaper } from "../../foundation/store/expiring-records.ts";
import { createAccessKeyFormat } from "../access-keys/secrets/access-key-format.ts";
import { createJoinValues, JOIN_VALUE_MS } from "./join-values.ts";

const PREFIX = "/registry/test/internal/cluster-joins/";

async function startedValues() {
  const time = manualTime();
  const { random } = systemRuntime;
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const records = { view: cache.view(PREFIX), prefix: PREFIX, storage };
  const values = createJoinValues(records, { ...time, random }, createAccessKeyFormat("postern"));
  const { value } = await values.create({ cluster: "edge" }, "uid-1");
  await vi.waitFor(() => expect(values.find(value)?.clusterUid).toBe("uid-1"));
  const stored = async (): Promise<readonly string[]> =>
    (await storage.list(PREFIX)).entries.map((entry) => Buffer.from(entry.value).toString("latin1"));
  return { time, values, value, stored, records, random, [Symbol.asyncDispose]: () => cache[Symbol.asyncDispose]() };
}

it("a value that has expired is gone from the store, so that no clock makes it good again", async () => {
  await using started = await startedValues();
  const { time, values, value, stored, records, random } = started;
  const port = {
    runtime: { ...systemRuntime, ...time, random },
    onError: (error: unknown) => expect.unreachable(String(error)),
  };
  using _ = createRecordReaper(port, records);
  time.advance(JOIN_VALUE_MS);
  await vi.waitFor(async () => {
    time.advance(10_000);
    expect(await stored()).toEqual([]);
  });
  await vi.waitFor(() =>
    expect(values.spent(value)).toEqual({ cluster: "edge", clusterUid: "uid-1", used: undefined }),
  );
  time.setTimeOfDay(time.clock.now() - 2 * JOIN_VALUE_MS);
  expect(values.find(value)).toBeUndefined();
  expect(await values.take(value, "peer")).toBe(false);
});

it("a used value is remembered, in a form in which no earlier release finds it", async () => {
  await using started = await startedValues();
  const { time, values, value, stored } = started;
  expect(await values.take(value, "peer")).toBe(true);
  expect(await values.take(value, "peer")).toBe(false);
  await vi.waitFor(() => expect(values.spent(value)?.used).toEqual({ at: time.clock.now(), peerUid: "peer" }));
  expect(values.find(value)).toBeUndefined();
  const [record = ""] = await stored();
  expect(record).toContain('"digest"');
  expect(record).not.toContain('"hash"');
});
