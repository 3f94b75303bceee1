// Writes the names of all options into deploy/charts/postern/values.schema.json, and leaves the rest as it is. Run: npm run generate -- chart

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chartConfigSchema } from "./release/chart-config-schema.ts";

const path = fileURLToPath(new URL("../deploy/charts/postern/values.schema.json", import.meta.url));
const schema = JSON.stringify(chartConfigSchema(), undefined, 2).replaceAll("\n", "\n    ");
const before = readFileSync(path, "utf8");
writeFileSync(
  path,
  before.replace(/^ {4}"config": .*?(?=,\n {4}"extraEnv")/ms, () => `    "config": ${schema}`),
);
