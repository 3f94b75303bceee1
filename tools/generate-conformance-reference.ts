// Runs the conformance suite and writes docs/reference/kubernetes-conformance.md from its cases, which are named by the behaviour they
// hold the server to. Run: npx tsx -C @postern/source tools/generate-conformance-reference.ts

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ACCEPTED_DEVIATIONS } from "../test/conformance/golden/accepted-deviations.ts";
import { renderConformanceReference, type SuiteResult } from "../test/conformance/reference.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-conformance-"));
const resultFile = join(folder, "result.json");
const suite = ["run", "--project", "system", "test/conformance", "--reporter=json", `--outputFile=${resultFile}`];
spawnSync("npx", ["vitest", ...suite], { stdio: ["ignore", "ignore", "inherit"] });
const result: SuiteResult = JSON.parse(readFileSync(resultFile, "utf8"));
rmSync(folder, { recursive: true });

const path = fileURLToPath(new URL("../docs/reference/kubernetes-conformance.md", import.meta.url));
writeFileSync(path, renderConformanceReference(result, ACCEPTED_DEVIATIONS));
console.log(`wrote ${path}`);
