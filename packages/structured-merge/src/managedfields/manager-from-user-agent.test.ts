import { expect, it } from "vitest";
import { managerFromUserAgent } from "./manager-from-user-agent.ts";

it.each([
  ["kubectl/v1.32.0 (linux/amd64) kubernetes/abc", "kubectl"],
  ["Mozilla/5.0", "Mozilla"],
  ["curl", "curl"],
  ["my tool/1", "my tool"],
  ["a\u0007b/1", "ab"],
  ["", "unknown"],
  ["/1", "unknown"],
  [undefined, "unknown"],
  ["x".repeat(200), "x".repeat(128)],
  ["é".repeat(100), "é".repeat(64)],
  [`${"x".repeat(127)}é`, "x".repeat(127)],
])("names the manager of User-Agent %j %j", (userAgent, manager) => {
  expect(managerFromUserAgent(userAgent)).toBe(manager);
});
