// The committed reference of kinds is what a server of this commit publishes.

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { startPlatform } from "../../packages/platform/src/testing/running-platform.ts";
import { renderKindReference, type Schema } from "./kind-reference.ts";
import { publishedGroups } from "./published-groups.ts";

const FOLDER = new URL("../../docs/reference/kinds/", import.meta.url);

it("docs/reference/kinds is up to date: run tools/generate-kind-reference.ts", async () => {
  await using platform = await startPlatform();
  const groups = await publishedGroups(async (path) => (await platform.send({ path })).body);
  const committed = readdirSync(FOLDER).map((name) => [name, readFileSync(new URL(name, FOLDER), "utf8")] as const);
  expect(new Map(committed.toSorted())).toEqual(new Map([...renderKindReference(groups)].toSorted()));
});

describe("a page of a kind", () => {
  const page = (spec: Schema): string => {
    const schemas = { "a.Cake": { description: "A cake.", properties: { kind: {}, spec } } };
    const resources = [{ name: "cakes", kind: "Cake", namespaced: true, verbs: ["list", "get"] }];
    return renderKindReference([{ groupVersion: "a/v1", resources, schemas }]).get("cake.md") ?? "";
  };
  it.each<[what: string, schema: Schema, row: string]>([
    [
      "a required field in bold",
      { required: ["x"], properties: { x: { type: "string" } } },
      "| **`spec.x`** | string |  |",
    ],
    [
      "bounds, values and the default",
      { properties: { x: { type: "integer", minimum: 1, maximum: 3, enum: [1, 2], default: 2 } } },
      "| `spec.x` | integer | One of `1`, `2`. 1 to 3. Default: `2`. |",
    ],
    [
      "fields within lists and maps",
      {
        properties: {
          x: {
            type: "array",
            items: { additionalProperties: { properties: { y: { type: "string", format: "date-time" } } } },
          },
        },
      },
      "| `spec.x[].*.y` | time |  |",
    ],
    [
      "texts without breaking the table",
      { properties: { x: { type: "string", description: "a|b <c>" } } },
      "| `spec.x` | string | a\\|b &lt;c&gt; |",
    ],
  ])("shows %s", (_, schema, row) => {
    expect(page(schema)).toContain(row);
  });

  it("lists verbs in one order", () => {
    expect(page({})).toContain("| verbs | get, list |");
  });
});
