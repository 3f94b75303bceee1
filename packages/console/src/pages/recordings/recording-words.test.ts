import type { SessionRecordingItem } from "@postern/api/session-recording";
import { expect, it } from "vitest";
import { durationOf, podPathOf } from "./recording-words.ts";

const ITEM: SessionRecordingItem = {
  name: "20261130T101500123Z-a-1f00a2b31f00a2b31f00a2b3",
  startTime: "2026-11-30T10:15:00.123Z",
  durationSeconds: 5,
  bytes: 100,
  state: "Complete",
  user: "jane",
  project: "shop",
  instance: "demo",
  cluster: "eu-west",
  namespace: "default",
  pod: "web",
  container: "",
  subresource: "exec",
  command: ["sh"],
  auditID: "a",
  server: "one",
};

it.each([
  [0, "0s"],
  [59, "59s"],
  [60, "1m 0s"],
  [3_599, "59m 59s"],
  [3_600, "1h 0m"],
  [90_061, "25h 1m"],
])("a session of %i seconds takes %s", (durationSeconds, words) => {
  expect(durationOf({ ...ITEM, durationSeconds })).toBe(words);
});

it("a pod is named with what it is in: the virtual cluster, or the cluster itself", () => {
  expect(podPathOf(ITEM)).toBe("shop/demo/default/web");
  expect(podPathOf({ ...ITEM, project: "", instance: "" })).toBe("eu-west/default/web");
});
