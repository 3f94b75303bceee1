import { expect, it } from "vitest";
import { createTestContext } from "../../testing/test-context.ts";
import { fieldManagerOf } from "./field-manager-name.ts";

it.each([
  ["kubectl/v1.34", "kubectl"],
  ["caf\u00c3\u00a9/1", "café"],
  ["\u00ff/1", "\ufffd"],
  ["", "unknown"],
])("names the manager of the User-Agent %j %s", (agent, manager) => {
  const { request } = createTestContext({ url: "/", headers: { "user-agent": agent } });
  expect(fieldManagerOf(undefined, request)).toBe(manager);
  expect(fieldManagerOf("", request)).toBe(manager);
  expect(fieldManagerOf("mine", request)).toBe("mine");
});
