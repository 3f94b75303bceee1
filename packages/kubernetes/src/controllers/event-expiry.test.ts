import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type ManualTime, manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../builtin/testing/test-cluster.ts";
import { createEventExpiry, EVENT_TTL_MS } from "./event-expiry.ts";

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await createTestCluster();
});

afterEach(async () => await cluster[Symbol.asyncDispose]());

const makeEvent = (name: string) =>
  cluster.create("events", {
    metadata: { name, namespace: "default" },
    involvedObject: { kind: "ConfigMap", name: "c", namespace: "default" },
    reason: "Looked",
    // By the client's times, which decide nothing.
    lastTimestamp: "2099-01-01T00:00:00Z",
  });

const startAt = (time: ManualTime) =>
  createEventExpiry({ ...cluster.port, runtime: { ...cluster.port.runtime, ...time } }, cluster.resource("events"));

it("ends Events an hour after they were written", async () => {
  for (let at = 0; at < 150; at++) await makeEvent(`e${at}`);
  const time = manualTime(Date.now());
  using expiry = startAt(time);
  await expiry.idle();
  expect(cluster.names("events")).toHaveLength(150);

  time.advance(EVENT_TTL_MS - 61_000);
  await expiry.idle();
  expect(cluster.names("events")).toHaveLength(150);

  // The seconds that making them took, on a slow machine.
  time.setTimeOfDay(Date.now() + EVENT_TTL_MS + 1_000);
  time.advance(60_000);
  await expiry.idle();
  expect(cluster.names("events")).toEqual([]);
  expect(cluster.port.errors).toEqual([]);
});

it("counts from the last write", async () => {
  await makeEvent("kept");
  await makeEvent("ended");
  const ended = cluster.get("events", { namespace: "default", name: "ended" });
  const createdAt = Date.parse(String(ended?.metadata.creationTimestamp));
  const written = { operation: "Update", apiVersion: "v1", time: formatTimestamp(createdAt + 10_000) };
  await cluster.update("events", { namespace: "default", name: "kept" }, (event) => ({
    ...event,
    metadata: { ...event.metadata, managedFields: [written] },
  }));
  const time = manualTime(createdAt + EVENT_TTL_MS + 9_000);
  using expiry = startAt(time);
  await expiry.idle();
  expect(cluster.names("events")).toEqual(["kept"]);
  time.advance(60_000);
  await expiry.idle();
  expect(cluster.names("events")).toEqual([]);
});
