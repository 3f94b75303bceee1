// Runs the cases of all behaviours, in any suite, and writes docs/reference/kubernetes-conformance.md.
// Run: npm run generate -- conformance

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findCases } from "../test/conformance/behaviours/find-cases.ts";
import { ACCEPTED_DEVIATIONS } from "../test/conformance/golden/accepted-deviations.ts";
import { renderConformanceReference, type SuiteResult } from "../test/conformance/reference.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-conformance-"));
const resultFile = join(folder, "result.json");
const files = [...new Set(findCases().map(({ file }) => file))];
// Other projects run the same files again, on other stores.
const projects = ["unit", "etcd", "system", "long-parallel", "long-measuring"].flatMap((name) => ["--project", name]);
const run = ["vitest", "run", ...projects, ...files, "--reporter=json", `--outputFile=${resultFile}`];
spawnSync("npx", run, { stdio: ["ignore", "ignore", "inherit"] });
const result: SuiteResult = JSON.parse(readFileSync(resultFile, "utf8"));
rmSync(folder, { recursive: true });

const path = fileURLToPath(new URL("../docs/reference/kubernetes-conformance.md", import.meta.url));
writeFileSync(path, renderConformanceReference(result, ACCEPTED_DEVIATIONS));
console.log(`wrote ${path}`);
