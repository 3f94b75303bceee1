import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../builtin/testing/test-cluster.ts";
import { createEventRecorder, type EventRecorderOptions, type ObjectEvent } from "./event-recorder.ts";

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await createTestCluster();
});

afterEach(async () => await cluster[Symbol.asyncDispose]());

const recorder = (options: Partial<EventRecorderOptions> = {}) =>
  createEventRecorder({
    ...cluster.port,
    events: () => cluster.resource("events"),
    component: "postern",
    signal: new AbortController().signal,
    ...options,
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

it("tells of one that is refused, and goes on", async () => {
  const record = recorder();
  record(about({ namespace: "nowhere" }));
  record(about({}));
  await expect.poll(() => cluster.port.errors).toEqual([expect.objectContaining({ code: 404 })]);
  await expect.poll(() => cluster.names("events")).toHaveLength(1);
});
