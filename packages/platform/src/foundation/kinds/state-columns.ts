// Columns that show why an object is not ready.

import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { PrinterColumn } from "@postern/apiserver/registry/resource-definition";

const stateColumn = (name: "Reason" | "Message", description: string): PrinterColumn => ({
  name,
  type: "string",
  priority: 1,
  description,
  value: `.status.${name.toLowerCase()}`,
});

export const stateColumns: readonly PrinterColumn[] = [
  stateColumn("Reason", "Reason why it is not ready."),
  stateColumn("Message", "Message about why it is not ready."),
];

function readyCondition(object: KubeObject): JsonObject | undefined {
  const status = object["status"];
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  return (isJsonArray(conditions) ? conditions : []).filter(isJsonObject).find(({ type }) => type === "Ready");
}

/** `True`, or the reason of the condition `Ready`; `Unknown` without the condition. */
export function readyText(object: KubeObject): string {
  const ready = readyCondition(object);
  if (ready === undefined) return "Unknown";
  return ready["status"] === "True" ? "True" : String(ready["reason"] ?? "False");
}

/** For kinds with conditions. */
export const readyMessageColumn: PrinterColumn = {
  name: "Message",
  type: "string",
  priority: 1,
  description: "Message about why it is not ready.",
  value(object) {
    const ready = readyCondition(object);
    return ready === undefined || ready["status"] === "True" ? "" : String(ready["message"] ?? "");
  },
};
