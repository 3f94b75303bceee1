// The tables of messages against the .proto files that Kubernetes publishes.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { CLUSTER_MESSAGES } from "./cluster-message-tables.ts";

/** `package Message: number:field number:[]field number:{}field`, for each of our messages. */
const PUBLISHED: { readonly [message: string]: string } = JSON.parse(
  readFileSync(new URL("testdata/published-messages.json", import.meta.url), "utf8"),
).messages;

/** Published fields that no table has: Kubernetes 1.36 does not serve them by default. */
const NOT_SERVED: readonly string[] = [
  ...["schedulingPolicy", "schedulingConstraints", "disruptionMode", "resourceClaims"].map(
    (field) => `JobSchedulingConfiguration.${field}`,
  ),
  "CSIDriverSpec.preventPodSchedulingIfMissing",
  "CustomResourceDefinitionStatus.observedGeneration",
];

const plain = (name: string): string => name.toLowerCase().replace(/[$_-]/g, "");

/** Members by number; the name of what is inlined is not in JSON. */
function fieldsOf(table: string): Map<number, { readonly name: string; readonly form: string }> {
  const fields = new Map<number, { name: string; form: string }>();
  for (const field of table.split(" ").filter(Boolean)) {
    const [number = "", name = "", type = ""] = field.split(":");
    const text = type === "" ? name : type;
    const form = text.startsWith("[]") ? "[]" : text.startsWith("{}") ? "{}" : "";
    fields.set(Number(number), { name: type === "" ? name.slice(form.length) : name, form });
  }
  return fields;
}

it.each(Object.keys(CLUSTER_MESSAGES))("%s has the published numbers, all of them", (message) => {
  const published = fieldsOf((PUBLISHED[message] ?? expect.unreachable()).replace(/^\S+ \S+: ?/, ""));
  const ours = fieldsOf(CLUSTER_MESSAGES[message] ?? "");
  for (const [number, { name, form }] of ours) {
    const theirs = published.get(number);
    expect({ number, form }).toEqual({ number, form: theirs?.form });
    if (name !== "") expect(plain(name)).toBe(plain(theirs?.name ?? "").replace("jsonschemas", "list"));
  }
  const missing = [...published].filter(([number]) => !ours.has(number)).map(([, { name }]) => `${message}.${name}`);
  expect(missing.filter((field) => !NOT_SERVED.includes(field))).toEqual([]);
});

it("fields that are not served are published", () => {
  for (const field of NOT_SERVED) {
    const [message = "", name = ""] = field.split(".");
    expect(PUBLISHED[message]).toMatch(new RegExp(`:(\\[\\])?${name}( |$)`));
  }
});
