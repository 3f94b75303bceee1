// Load by programs that are not ours: `wrk` over HTTP/1.1 and `h2load` over HTTP/2. A client of our own shares Node with the server, and whatever both get wrong.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { latenciesOf } from "./latencies.ts";
import type { LoadReport, Target } from "./order.ts";

/** GETs of one path in a closed loop. */
type IndependentOrder = {
  readonly target: Target;
  readonly path: string;
  /** Connections of `wrk`; streams of one connection of `h2load`. */
  readonly inFlight: number;
  readonly seconds: number;
};

export type IndependentLoad = {
  readonly name: "wrk" | "h2load";
  /** Rejects where the program fails or prints something else than it did. */
  run(order: IndependentOrder): Promise<LoadReport>;
};

/** The programs that this machine has. Debian's packages are `wrk` and `nghttp2-client`. */
export const installedLoads = (): readonly IndependentLoad[] =>
  [WRK, H2LOAD].filter(({ name }) => spawnSync(name, ["--version"]).error === undefined);

const authorization = ({ token }: Target): string => `authorization: Bearer ${token}`;

const WRK: IndependentLoad = {
  name: "wrk",
  async run({ target, path, inFlight, seconds }) {
    const size = ["-t1", `-c${inFlight}`, `-d${Math.ceil(seconds)}s`];
    return readWrk(await outputOf("wrk", [...size, "--latency", "-H", authorization(target), `${target.url}${path}`]));
  },
};

const H2LOAD: IndependentLoad = {
  name: "h2load",
  async run({ target, path, inFlight, seconds }) {
    const folder = mkdtempSync(join(tmpdir(), "postern-h2load-"));
    try {
      const log = join(folder, "requests");
      const size = ["-t1", "-c1", `-m${inFlight}`, "-D", String(Math.ceil(seconds)), `--log-file=${log}`];
      const text = await outputOf("h2load", [...size, "-H", authorization(target), `${target.url}${path}`]);
      return readH2load(text, readFileSync(log, "utf8"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

/** Throws for a text without the figures. */
function readWrk(text: string): LoadReport {
  const [, count = "", seconds = ""] = match(text, /(\d+) requests in ([\d.]+m?s),/);
  const failed = Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0);
  const broken = /Socket errors: (.*)/.exec(text)?.[1];
  return {
    count: Number(count),
    seconds: milliseconds(seconds) / 1_000,
    bytes: 0,
    latencies: { p50: percentile(text, 50), p99: percentile(text, 99), max: milliseconds(maximumOf(text)) },
    failures: { ...(failed === 0 ? {} : { "not 2xx": failed }), ...(broken === undefined ? {} : { [broken]: 1 }) },
  };
}

const percentile = (text: string, share: number): number =>
  milliseconds(match(text, new RegExp(`^\\s*${share}%\\s+([\\d.]+[a-z]+)`, "m"))[1] ?? "");
const maximumOf = (text: string): string => match(text, /Latency\s+\S+\s+\S+\s+(\S+)/)[1] ?? "";

/** `log` has a line for each request: when it began, its status, and how many microseconds it took. */
function readH2load(text: string, log: string): LoadReport {
  const [, seconds = ""] = match(text, /finished in ([\d.]+m?s)/);
  const requests = log
    .trim()
    .split("\n")
    .map((line) => line.split("\t"));
  const failures: { [status: string]: number } = {};
  for (const [, status = ""] of requests) if (!/^2/.test(status)) failures[status] = (failures[status] ?? 0) + 1;
  return {
    count: requests.length,
    seconds: milliseconds(seconds) / 1_000,
    bytes: 0,
    latencies: latenciesOf(requests.map(([, , microseconds]) => Number(microseconds) / 1_000)),
    failures,
  };
}

const UNITS: { readonly [unit: string]: number } = { us: 0.001, ms: 1, s: 1_000, m: 60_000 };

function milliseconds(text: string): number {
  const [, value = "", unit = ""] = match(text, /^([\d.]+)(us|ms|s|m)$/);
  return Number(value) * (UNITS[unit] ?? Number.NaN);
}

function match(text: string, pattern: RegExp): RegExpExecArray {
  const found = pattern.exec(text);
  if (found === null) throw new Error(`${pattern} is not in:\n${text}`);
  return found;
}

function outputOf(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} failed:\n${output}`));
    });
  });
}
