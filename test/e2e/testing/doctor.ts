// Findings of `postern doctor`, for tests.

import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { loadConfiguration } from "@postern/platform/foundation/config/configuration";
import { examine, type Finding } from "@postern/platform/operations/doctor/examine";
import { expect } from "vitest";
import { createFakeTime } from "../../crash/testing/fake-time.ts";
import { ENTRY, NODE, tool } from "./postern-process.ts";

export const SQLITE = ["--store", "sqlite"];

/** As the command finds it: in this process, which takes a tenth of the time, or in one of its own with those variables. */
export async function doctor(dataDir: string, flags: readonly string[] = [], env?: readonly string[]) {
  const all = ["--data-dir", dataDir, ...(flags.includes("--store") ? [] : SQLITE), ...flags];
  const findings = env === undefined ? await examined(all) : await printed(all, env);
  const errors = findings.filter(({ status }) => status === "error");
  // Whatever is not in order comes with what to do.
  for (const { status, remedy } of findings)
    if (status === "error" || status === "warning") expect(remedy).toMatch(/\w/);
  return { findings, errors, of: (check: string) => findings.filter((finding) => finding.check === check) };
}

async function examined(flags: readonly string[]): Promise<readonly Finding[]> {
  const pairs = flags.flatMap((flag, at) => (at % 2 === 0 ? [[flag.slice(2), flags[at + 1] ?? ""] as const] : []));
  return await examine(await loadConfiguration({ flags: new Map(pairs), workingDirectory: tmpdir() }), Date.now());
}

async function printed(flags: readonly string[], env: readonly string[]): Promise<readonly Finding[]> {
  const { code, stdout, stderr } = await tool("env", [...env, NODE, ENTRY, "doctor", "-o", "json", ...flags]);
  const findings: readonly Finding[] = JSON.parse(stdout).findings;
  const errors = findings.filter(({ status }) => status === "error").length;
  expect(code).toBe(errors > 0 ? 1 : 0);
  expect(stderr).toBe(errors === 0 ? "" : `postern: ${errors === 1 ? "1 error was" : `${errors} errors were`} found\n`);
  return findings;
}

/** Variables for a process whose clock is so many seconds ahead; `folder` is made for it. */
export async function ahead(folder: string, seconds: number): Promise<readonly string[]> {
  await mkdir(folder);
  const time = await createFakeTime(folder);
  await time.set(seconds);
  return Object.entries(time.env).map(([name, value]) => `${name}=${value}`);
}
