// Scans everything that a test run left behind for every secret of the run (vitest's globalSetup): the run
// fails if one is in a place that is not allowed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import type { TestProject } from "vitest/node";
import { findLeaks, type ScanReport } from "./find-leaks.ts";
import { createRunFolders } from "./run-record.ts";

const MAX_REPORTED = 100;

export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "postern-run-"));
  createRunFolders(folder);
  project.provide("runFolder", folder);
  return () => {
    const started = performance.now();
    try {
      const report = findLeaks(folder);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.log(`${project.name}: ${describeScan(report)}, in ${seconds} s`);
      if (report.leaks.length > 0) {
        console.error(leakText(report));
        // Vitest ignores an error that is thrown here.
        process.exitCode = 1;
        // `npm test` must not take the run for one that failed only because of its failed files.
        rmSync(process.env["FAILED_FILES"] ?? "", { force: true });
      }
    } finally {
      if (process.env["KEEP_RUN_RECORD"] === undefined) rmSync(folder, { recursive: true, force: true });
      else console.log(`the record of the run: ${folder}`);
    }
  };
}

const describeScan = ({ secrets, frames, files, bytes, leaks }: ScanReport): string =>
  `${secrets} secrets looked for in ${frames} answers and outputs and ${files} files (${(bytes / 1e6).toFixed(1)} MB), ${leaks.length} leaks`;

const leakText = ({ leaks }: ScanReport): string =>
  [
    "secrets stand where they may not:",
    ...leaks.slice(0, MAX_REPORTED),
    ...(leaks.length > MAX_REPORTED ? ["…"] : []),
  ].join("\n  ");
