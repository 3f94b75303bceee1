import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { chartConfigSchema } from "./chart-config-schema.ts";

it("is what the chart has (else run npm run generate -- chart)", () => {
  const path = new URL("../../deploy/charts/postern/values.schema.json", import.meta.url);
  const { properties } = JSON.parse(readFileSync(path, "utf8"));
  expect(properties.config).toEqual(chartConfigSchema());
});
