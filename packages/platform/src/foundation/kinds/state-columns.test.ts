import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { expect, it } from "vitest";
import { readyMessageColumn, readyText } from "./state-columns.ts";

const TYPE = { apiVersion: "v1", kind: "Some", metadata: { name: "a" } };
const withReady = (ready: JsonObject | undefined): KubeObject => ({
  ...TYPE,
  status: { conditions: [{ type: "Other", status: "True", message: "x" }, ...(ready === undefined ? [] : [ready])] },
});
const failed = { type: "Ready", status: "False", reason: "DiscoveryFailed", message: "it cannot be reached" };

it.each([
  ["no status", TYPE, ["Unknown", ""]],
  ["no condition Ready", withReady(undefined), ["Unknown", ""]],
  ["Ready", withReady({ type: "Ready", status: "True", reason: "Ready", message: "users can sign in" }), ["True", ""]],
  ["not Ready", withReady(failed), ["DiscoveryFailed", "it cannot be reached"]],
  ["not Ready, without a reason", withReady({ type: "Ready", status: "False" }), ["False", ""]],
])("shows %s, and the message only where it explains a fault", (_, object, texts) => {
  const { value } = readyMessageColumn;
  expect([readyText(object), typeof value === "function" ? value(object, 0) : value]).toEqual(texts);
});
