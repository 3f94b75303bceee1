// Takes the tour of the README on a terminal, with a server of its own, and returns what a person sees, without secrets and what differs with each run.

import { execFile, spawn } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ENTRY = join(import.meta.dirname, "../../packages/cli/bin/postern.js");

export const TOUR = [
  "postern serve",
  "postern key create laptop --ttl 24h",
  "postern kubeconfig demo --merge && kubectl get namespaces",
] as const;

export type RecordOptions = {
  /** An empty folder. */
  readonly folder: string;
  /** Runs the command. */
  readonly node: string;
};

/** Needs `script`, which makes a terminal, and kubectl. */
export async function recordTour({ folder, node }: RecordOptions): Promise<string> {
  const programs = join(folder, "programs");
  await mkdir(programs);
  await writeFile(join(programs, "postern"), `#!/bin/sh\nexec '${node}' '${ENTRY}' "$@"\n`);
  await chmod(join(programs, "postern"), 0o755);
  const env = { PATH: `${programs}:${process.env["PATH"]}`, HOME: folder, COLUMNS: "110" };
  const [serve, ...others] = TOUR;
  const server = spawn("script", ["--quiet", "--return", "--command", `exec ${serve} --secure-port 0`, "/dev/null"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
  });
  const ended = new Promise<void>((resolve) => server.once("close", () => resolve()));
  try {
    let shown = "";
    await new Promise<void>((resolve, reject) => {
      server.stdout.setEncoding("utf8").on("data", (text: string) => {
        shown += text;
        // The last line of what a start prints.
        if (/^ {2}Help [^\n]*\n/m.test(shown)) resolve();
      });
      void ended.then(() => reject(new Error(`the server ended: ${shown}`)));
    });
    let text = `$ ${serve}\n${shown}`;
    for (const line of others) {
      const { stdout } = await run("sh", ["-euc", `{ ${line}; } 2>&1`], { cwd: folder, env });
      text += `\n$ ${line}\n${stdout}`;
    }
    return withoutDifferences(text, folder);
  } finally {
    server.kill("SIGTERM");
    await ended;
  }
}

/** The same for every run and machine: without lines about an old Node, or a folder in memory. */
const withoutDifferences = (text: string, folder: string): string =>
  text
    .replaceAll("\r", "")
    .replaceAll(folder, "~")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8443")
    .replaceAll(/code=[\w-]+/g, "code=…")
    .replaceAll(/\bpst_\w+/g, "pst_…")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "2026-12-01T08:00:00Z")
    .replaceAll(/(Active +)[\dms]+ *$/gm, "$15s")
    .replaceAll(/^(Node \d|\{"level":"warn".*is in memory).*\n/gm, "")
    .trimEnd();
