// Runs a process under strace, and gives everything that it did to the files of one folder, in order, with all bytes that it wrote.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** Undefined where it is installed; where it is not, the reason to skip, except on CI, where it has to be. */
export function whyNoTrace(): string | undefined {
  if (spawnSync("strace", ["--version"]).status === 0 || process.env["CI"] !== undefined) return undefined;
  return "strace is not installed (apt-get install strace)";
}

export type SystemCall =
  /** A file or folder came to be. */
  | { readonly type: "created"; readonly path: string; readonly isFolder: boolean }
  | { readonly type: "removed"; readonly path: string }
  | { readonly type: "written"; readonly path: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly type: "truncated"; readonly path: string; readonly length: number }
  /** `failed`: the call did not work, and the part of the file on disk is unknown. */
  | { readonly type: "synced"; readonly path: string; readonly failed: boolean }
  /** To its standard output. */
  | { readonly type: "said"; readonly text: string };

export type TraceOptions = {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Calls outside of this folder are left out. */
  readonly folder: string;
  /** Where the trace is put. */
  readonly tracePath: string;
  /** How strace tampers with calls, such as `fsync:error=EIO:when=9+9`. */
  readonly inject?: string;
};

const CALLS = "openat,mkdir,unlink,pwrite64,write,fsync,fdatasync,ftruncate";

/** Until it ends or kills itself. Throws where it fails, and where it did something that is not understood here. */
export async function traceProcess({ command, folder, tracePath, inject }: TraceOptions): Promise<SystemCall[]> {
  const tracing = ["-f", "-y", "-xx", "-s", String(1 << 20), "-e", `trace=${CALLS}`, "-o", tracePath];
  const tampering = inject === undefined ? [] : ["-e", `inject=${inject}`];
  const child = spawn("strace", [...tracing, ...tampering, ...command], { stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stdout.resume();
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const [code, signal] = await once(child, "exit");
  if (code !== 0 && signal !== "SIGKILL") throw new Error(`the traced process ended with ${code ?? signal}: ${errors}`);
  const calls: SystemCall[] = [];
  const unfinished = new Map<string, string>();
  for await (const line of createInterface({ input: createReadStream(tracePath) })) {
    const call = readCall(whole(line, unfinished) ?? "", folder);
    if (call !== undefined) calls.push(call);
  }
  return calls;
}

/** Strace tells a call that another thread overlaps in two lines. */
function whole(line: string, unfinished: Map<string, string>): string | undefined {
  const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
  if (rest.endsWith(" <unfinished ...>")) {
    unfinished.set(thread, rest.slice(0, -" <unfinished ...>".length));
    return undefined;
  }
  const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
  return resumed === null ? rest : `${unfinished.get(thread) ?? ""}${resumed[1]}`;
}

function readCall(line: string, folder: string): SystemCall | undefined {
  const [, name = "", parameters = "", result = ""] = /^(\w+)\((.*)\) += (-?\d+.*)$/.exec(line) ?? [];
  const failed = result.startsWith("-");
  const [, file = "", path = ""] = /^(\d+)<([^>]*)>/.exec(parameters) ?? [];
  const [first = "", second = ""] = [...parameters.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, text]) => text);
  if (name === "write" && file === "1") return failed ? undefined : { type: "said", text: bytesOf(first).toString() };

  const isNamed = name === "openat" || name === "mkdir" || name === "unlink";
  const place = bytesOf(isNamed ? first : path).toString();
  if (!place.startsWith(folder)) return undefined;
  switch (name) {
    case "openat":
      // The reader finds out that it was there already.
      return failed || !parameters.includes("O_CREAT") ? undefined : { type: "created", path: place, isFolder: false };
    case "mkdir":
      return failed ? undefined : { type: "created", path: place, isFolder: true };
    case "unlink":
      return failed ? undefined : { type: "removed", path: place };
    case "fsync":
    case "fdatasync":
      return { type: "synced", path: place, failed };
  }
  if (failed) return undefined;
  const numbers = [...parameters.matchAll(/, (\d+)(?=,|$)/g)].map(([, digits]) => Number(digits));
  if (name === "ftruncate") return { type: "truncated", path: place, length: numbers[0] ?? 0 };
  const bytes = bytesOf(first).subarray(0, Number.parseInt(result, 10));
  if (name === "pwrite64" && second === "") return { type: "written", path: place, offset: numbers[1] ?? 0, bytes };
  throw new Error(`not understood: ${line.slice(0, 200)}`);
}

const bytesOf = (hex: string | undefined): Buffer => Buffer.from((hex ?? "").replaceAll("\\x", ""), "hex");
