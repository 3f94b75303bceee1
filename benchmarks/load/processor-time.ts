// The processor time that a server takes for a fixed number of GETs by h2load over HTTP/1.1. Other work on the machine changes it little, unlike rates.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MeasuredServer } from "../servers/measured-server.ts";

/** Microseconds of a request. */
export type ProcessorTime = { readonly main: number; readonly beside: number };

export const totalOf = ({ main, beside }: ProcessorTime): number => main + beside;

type FixedOrder = {
  /** Each connection asks for them in turns. */
  readonly paths: readonly string[];
  readonly requests: number;
  readonly connections: number;
};

/** Throws where a request fails, and for a server on another machine. */
export function processorTime({ target, pid }: MeasuredServer, order: FixedOrder): ProcessorTime {
  const { paths, requests, connections } = order;
  if (pid === undefined) throw new Error("the processor time of another machine is not known here");
  const folder = mkdtempSync(join(tmpdir(), "postern-h2load-"));
  const input = join(folder, "urls");
  writeFileSync(input, paths.map((path) => `${target.url}${path}\n`).join(""));
  const size = ["--h1", "-t1", `-c${connections}`, "-n", String(requests), "-i", input];
  const header = `authorization: Bearer ${target.token}`;
  const before = nanoseconds(pid);
  const { stdout } = spawnSync("h2load", [...size, "-H", header], { encoding: "utf8" });
  const after = nanoseconds(pid);
  rmSync(folder, { recursive: true });
  // Absent where the program is not installed.
  if (!stdout?.includes(` ${requests} succeeded`)) throw new Error(`h2load failed:\n${stdout}`);
  const ofRequest = (value: number): number => value / 1_000 / requests;
  return { main: ofRequest(after.main - before.main), beside: ofRequest(after.beside - before.beside) };
}

/** Processor time so far, of the main thread and of all others. */
function nanoseconds(pid: number): ProcessorTime {
  let [main, beside] = [0, 0];
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const used = Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]);
    if (task === String(pid)) main += used;
    else beside += used;
  }
  return { main, beside };
}
