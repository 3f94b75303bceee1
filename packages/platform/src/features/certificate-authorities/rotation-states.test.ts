import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTeardown, type Teardown } from "@postern/apiserver/runtime/teardown";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { afterEach, describe, expect, it } from "vitest";
import type { AuthorityRecord } from "./authority-record.ts";
import { openRotationStates, PLATFORM, stateOfRecord } from "./rotation-states.ts";

const open: Teardown[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.run();
});

async function states() {
  const teardown = createTeardown();
  open.push(teardown);
  const storage = teardown.use(createMemoryStorage());
  const cache = teardown.use(createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler }));
  await cache.ready();
  const prefix = "/registry/management/internal/rotations/";
  return teardown.use(
    openRotationStates({
      // Nothing but the place of its records is asked for.
      records: (() => ({ view: cache.view(prefix), prefix })) as never,
      ...{ storage, cache, runtime: systemRuntime },
    }),
  );
}

describe("what servers know of rotations", () => {
  it("is the latest step, also where a slower server publishes an earlier one after it", async () => {
    const rotations = await states();
    await rotations.publish("one", { generation: 2, phase: "Prepared", preparedAt: 5 });
    await rotations.publish("one", { generation: 2, phase: "Completed" });
    await rotations.publish("one", { generation: 2, phase: "Prepared", preparedAt: 5 });
    expect(rotations.of("one")).toEqual({ generation: 2, phase: "Completed" });
    await rotations.publish("one", { generation: 3, phase: "Prepared", preparedAt: 9 });
    await rotations.publish("one", { generation: 2, phase: "Completed" });
    expect(rotations.of("one")).toEqual({ generation: 3, phase: "Prepared", preparedAt: 9 });
    await rotations.publish("one", { generation: 3, phase: "Aborted" });
    expect(rotations.of("one")).toEqual({ generation: 3, phase: "Aborted" });
  });

  it("calls back for each step, also for one that is known", async () => {
    const rotations = await states();
    const heard: string[] = [];
    using _following = rotations.onChange((id) => heard.push(id));
    await rotations.publish("one", { generation: 2, phase: "Completed" });
    await rotations.publish("one", { generation: 2, phase: "Prepared", preparedAt: 1 });
    await rotations.forget("one");
    await expect.poll(() => heard).toEqual(["one", "one", "one"]);
    expect(rotations.of("one")).toBeUndefined();
  });

  it("has the time of the oldest preparation, while it is one", async () => {
    const rotations = await states();
    const since = () => rotations.preparedSince((id) => id !== PLATFORM);
    await rotations.publish(PLATFORM, { generation: 2, phase: "Prepared", preparedAt: 1 });
    expect(since()).toBeUndefined();
    await rotations.publish("late", { generation: 2, phase: "Prepared", preparedAt: 9 });
    await rotations.publish("early", { generation: 2, phase: "Prepared", preparedAt: 4 });
    expect(since()).toBe(4);
    await rotations.publish("early", { generation: 2, phase: "Completed" });
    expect(since()).toBe(9);
    await rotations.forget("late");
    await expect.poll(since).toBeUndefined();
    expect(rotations.preparedSince(() => true)).toBe(1);
  });
});

describe("the state of a record whose last step was not published", () => {
  const current = { certificate: "c", privateKey: "k" };
  const prepared = { generation: 2, phase: "Prepared", preparedAt: 5 } as const;
  it.each<readonly [string, AuthorityRecord, Parameters<typeof stateOfRecord>[1], ReturnType<typeof stateOfRecord>]>([
    ["never rotated", { current, generation: 1 }, undefined, undefined],
    ["prepared", { current, generation: 2, next: { ...current, preparedAt: 5 } }, undefined, prepared],
    ["completed", { current, generation: 2, rotatedAt: 7 }, prepared, { generation: 2, phase: "Completed" }],
    ["aborted", { current, generation: 2 }, prepared, { generation: 2, phase: "Aborted" }],
    ["aborted after another", { current, generation: 2, rotatedAt: 3 }, prepared, { generation: 2, phase: "Aborted" }],
    ["known", { current, generation: 2 }, { generation: 2, phase: "Aborted" }, { generation: 2, phase: "Aborted" }],
  ])("%s", (_name, record, known, state) => {
    expect(stateOfRecord(record, known)).toEqual(state);
  });
});
