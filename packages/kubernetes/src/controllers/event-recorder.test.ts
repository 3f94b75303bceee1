import { deleteControlled } from "@postern/apiserver/controllers/controlled-objects";
import {
  COMBINED_EVERY_MS,
  createEventRecorder,
  type EventRecorderDeps,
  type ObjectEvent,
  SINGLE_EVENTS,
} from "@postern/apiserver/controllers/event-recorder";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../builtin/testing/test-cluster.ts";

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await createTestCluster();
});

afterEach(async () => await cluster[Symbol.asyncDispose]());

const recorder = (deps: Partial<EventRecorderDeps> = {}) =>
  createEventRecorder({
    ...cluster.port,
    events: () => cluster.resource("events"),
    component: "postern",
    signal: new AbortController().signal,
    ...deps,
  });

const about = (involvedObject: Partial<ObjectEvent["involvedObject"]>): ObjectEvent => ({
  involvedObject: { apiVersion: "v1", kind: "Thing", name: "k", uid: "u", ...involvedObject },
  type: "Warning",
  reason: "Looked",
  message: "Somebody looked",
});

it.each([
  [undefined, "default"],
  ["other", "other"],
])("keeps an Event about an object in namespace %s in namespace %s", async (namespace, where) => {
  const event = about(namespace === undefined ? {} : { namespace });
  recorder()(event);
  await expect.poll(() => cluster.names("events")).toHaveLength(1);
  const [name = ""] = cluster.names("events");
  expect(name).toMatch(/^k\.[a-z0-9]{10}$/);
  expect(cluster.get("events", { namespace: where, name })).toMatchObject({
    ...event,
    source: { component: "postern" },
    reportingComponent: "postern",
    count: 1,
  });
  expect(cluster.port.errors).toEqual([]);
});

it("drops one quietly where there are no events, or its time is over", async () => {
  const over = new AbortController();
  over.abort();
  recorder({ events: () => undefined })(about({}));
  recorder({ signal: over.signal })(about({}));
  recorder()(about({ name: "last" }));
  await expect.poll(() => cluster.names("events")).toEqual([expect.stringMatching(/^last\./)]);
});

it("reports a refused one, and continues", async () => {
  const record = recorder();
  record(about({ namespace: "nowhere" }));
  record(about({}));
  await expect.poll(() => cluster.port.errors).toEqual([expect.objectContaining({ code: 404 })]);
  await expect.poll(() => cluster.names("events")).toHaveLength(1);
});

it("is quiet about objects that end with their namespace", async () => {
  const ending = { metadata: { name: "ending" }, spec: { finalizers: ["example.com/held"] } };
  await cluster.create("namespaces", ending);
  await cluster.delete("namespaces", { name: "ending" });
  const record = recorder();
  record(about({ namespace: "ending" }));
  record(about({ namespace: "nowhere" }));
  await expect.poll(() => cluster.port.errors).toEqual([expect.objectContaining({ code: 404 })]);
  expect(cluster.names("events")).toEqual([]);
});

it("writes one Event of those that several servers record once", async () => {
  const once = "a1";
  for (const record of [recorder(), recorder(), recorder()]) record({ ...about({}), once });
  recorder()(about({ name: "last" }));
  await expect.poll(() => cluster.names("events")).toEqual(["k.a1", expect.stringMatching(/^last\./)]);
  expect(cluster.get("events", { namespace: "default", name: "k.a1" })).not.toHaveProperty("once");
  expect(cluster.port.errors).toEqual([]);
});

it("counts frequent repetitions in one Event, and reports other things as usual", async () => {
  const time = manualTime();
  const record = recorder({ runtime: { ...cluster.port.runtime, ...time } });
  const stored = () => cluster.names("events").map((name) => cluster.get("events", { namespace: "default", name }));
  const combined = () =>
    stored().filter((event) => String(event?.["message"]).startsWith("(combined from similar events)"));
  let told = 0;
  const happen = (times: number): void => {
    for (let count = 0; count < times; count++) record(about({ name: `k${told++}` }));
  };
  happen(SINGLE_EVENTS);
  await expect.poll(() => stored().length).toBe(SINGLE_EVENTS);

  happen(5_000);
  record({ ...about({}), reason: "Found" });
  await expect.poll(() => stored().length).toBe(SINGLE_EVENTS + 1);
  time.advance(COMBINED_EVERY_MS);
  await expect.poll(() => combined()).toHaveLength(1);
  expect(combined()[0]).toMatchObject({
    count: 5_000,
    reason: "Looked",
    message: expect.stringMatching(/: Somebody looked$/),
  });

  // The Event is there before the write of it has ended: those that happen until then are planned when it ends.
  await new Promise(setImmediate);
  happen(3);
  time.advance(COMBINED_EVERY_MS);
  await expect.poll(() => combined()[0]?.["count"]).toBe(5_003);
  expect(combined()[0]?.["lastTimestamp"]).not.toBe(combined()[0]?.["firstTimestamp"]);

  // After a deletion, or when its hour is over, the next one begins anew.
  await deleteControlled(cluster.port, cluster.resource("events"), combined()[0]!, new AbortController().signal);
  happen(2);
  time.advance(COMBINED_EVERY_MS);
  await expect.poll(() => combined()[0]?.["count"]).toBe(2);

  // An hour later there is room for single ones again.
  time.advance(3_600_000);
  happen(1);
  await expect.poll(() => cluster.names("events").some((name) => name.startsWith(`k${told - 1}.`))).toBe(true);
  expect(cluster.port.errors).toEqual([]);
});

it("keeps the newest Events of each namespace, in a bounded number", async () => {
  const record = recorder({ maxInNamespace: 5 });
  record(about({ namespace: "other", name: "elsewhere" }));
  for (let index = 0; index < 20; index++) {
    record(about({ name: `n${index}`, kind: `Kind${index}` }));
    const isThere = () => cluster.names("events").some((name) => name.startsWith(`n${index}.`));
    await expect.poll(() => [isThere(), cluster.port.errors], { timeout: 5_000 }).toEqual([true, []]);
  }
  expect(cluster.names("events").length).toBeLessThanOrEqual(7);
  expect(cluster.names("events").some((name) => name.startsWith("elsewhere."))).toBe(true);
  expect(cluster.port.errors).toEqual([]);
});
