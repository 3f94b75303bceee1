// `npm test`: all tests that the machine has the programs for (with CI=true one that could be installed and is not is a failure), and then, by themselves, the few files that failed while they shared the machine with others. Files that drive third-party
// programs are retried once; attacks, crashes, conformance and units are not, because there even a single failure is an error (ADR 105).

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeBinary } from "./release/node-binary.ts";
import { type FailedFile, filesToRetry } from "./test-cost/failed-files.ts";
import { describeMissing, isObtainable, preparePrograms } from "./test-programs/prepare-programs.ts";

/** Tests take a quarter less of the processor there than on Node 20. The commands and servers that they start stay on this Node (ADR 118). */
function nodeOfTests(): string {
  const [major = 0] = process.versions.node.split(".").map(Number);
  if (major >= 24) return process.execPath;
  try {
    return nodeBinary("node-24");
  } catch {
    return process.execPath;
  }
}

/** Names: of `!a` and `!b` Vitest runs what either one lets through, which is all. "system on etcd" starts etcd before its tests. */
const PROJECTS_BY_DAY = ["unit", "etcd", "system", "system on etcd"];

const vitest = (args: readonly string[], failedFiles: string): number =>
  spawnSync(nodeOfTests(), ["node_modules/vitest/vitest.mjs", "run", ...args], {
    stdio: "inherit",
    env: {
      ...process.env,
      FAILED_FILES: failedFiles,
      NODE_OF_SERVERS: process.execPath,
      TEST_FILES_LEFT_OUT: leftOut.join("\n"),
    },
  }).status ?? 1;

/** Undefined: the run did not finish, so that the results of its tests are unknown. */
function readFailedFiles(file: string): readonly FailedFile[] | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as readonly FailedFile[];
  } catch {
    return undefined;
  }
}

const missing = preparePrograms();
const report = (): void => {
  if (missing.length > 0) console.log(`\n${missing.map((each) => describeMissing(each)).join("\n")}`);
};
// A program that no machine of this system has is no fault of this one.
if (missing.some((each) => isObtainable(each)) && process.env["CI"] !== undefined) {
  report();
  process.exit(1);
}
const leftOut = [...new Set(missing.flatMap(({ files }) => files))];
const hasEtcd = missing.every(({ program }) => program.name !== "etcd");
const projects = PROJECTS_BY_DAY.filter((name) => hasEtcd || name !== "system on etcd");
const folder = await mkdtemp(join(tmpdir(), "postern-tests-"));
const first = join(folder, "first.json");
let status = vitest([...projects.map((name) => `--project=${name}`), ...process.argv.slice(2)], first);
const retried = status === 0 ? undefined : filesToRetry(readFailedFiles(first));
if (retried !== undefined) {
  const names = retried.map(
    ({ project, path, tests }) => `  ${project}: ${path}\n${tests.map((test) => `    ${test}\n`).join("")}`,
  );
  console.log(`\nFailed beside others, and tried once more alone:\n${names.join("")}`);
  const projectsOfFailed = [...new Set(retried.map(({ project }) => `--project=${project}`))];
  const paths = [...new Set(retried.map(({ path }) => path))];
  status = vitest([...projectsOfFailed, "--maxWorkers=1", ...paths], join(folder, "second.json"));
  console.log(status === 0 ? `UNSTABLE, passed alone:\n${names.join("")}` : "failed alone as well");
}
await rm(folder, { recursive: true, force: true });
report();
process.exitCode = status;
