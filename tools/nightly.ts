// Runs what `npm test` has no time for, one after the other: hundreds of failures and crashes, simulations of a thousand hours,
// hundreds of thousands of property cases, and whole suites on every store. Takes hours; prints the duration and the seed of each run.
// Usage: tsx tools/nightly.ts [word…]: with words, only the runs that have one in their name. TEST_SEED repeats a night.

import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { performance } from "node:perf_hooks";
import { NIGHTLY_RUNS, type Run } from "./nightly-runs.ts";
import { nodeBinary } from "./release/node-binary.ts";

type Command = {
  readonly name: string;
  readonly command: readonly string[];
  /** Each in the form `NAME=value`. */
  readonly variables?: readonly string[];
};

const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

/** Timeout of a test in milliseconds, longer than any test takes: vitest.config.ts reads it. */
const TIMEOUT = `TEST_TIMEOUT=${12 * 3_600_000}`;

/** The previous build on what this build leaves behind, and then this build on what that one leaves. */
const GOING_BACK: Command = {
  name: "going back to the release before",
  command: [
    "sh",
    "-euc",
    'folder=$(mktemp -d); trap \'rm -rf "$folder"\' EXIT; PREVIOUS_POSTERN=$(npx --no-install tsx tools/build-previous.ts "$folder/previous"); ' +
      "export PREVIOUS_POSTERN; npx --no-install vitest run --project system test/upgrade",
  ],
  variables: [TIMEOUT],
};

/** Ratios of the bare server's processor time, compared with the committed ones: times depend on the machine. */
const GATE: Command = {
  name: "processor time beside the bare server",
  command: ["npx", "--no-install", "tsx", "--conditions=@postern/source", "benchmarks/compare.ts", "--gate", "1.5"],
};

const words = process.argv.slice(2);
const isWanted = ({ name }: { readonly name: string }): boolean =>
  words.length === 0 || words.some((word) => name.includes(word));
const wanted = [...NIGHTLY_RUNS.map(commandOf), GOING_BACK, GATE].filter(isWanted);
console.log(`TEST_SEED=${seed}`);

const failed: string[] = [];
for (const { name, command, variables = [] } of wanted) {
  console.log(`\n=== ${name}\n${[...variables, ...command].join(" ")}`);
  const started = performance.now();
  const env = {
    ...process.env,
    TEST_SEED: String(seed),
    ...Object.fromEntries(variables.map((pair) => pair.split("=", 2))),
  };
  const [program = "", ...args] = command;
  const { status } = spawnSync(program, args, { stdio: "inherit", env });
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${name} (${minutes} min)`);
  if (status !== 0) failed.push(name);
}
if (wanted.length === 0) console.log(`no run has ${words.join(" or ")} in its name`);
process.exitCode = failed.length === 0 && wanted.length > 0 ? 0 : 1;

function commandOf({ name, project, paths, environment, seedOffset, node }: Run): Command {
  const projects = project === "system" ? ["system", "long-parallel"] : [project];
  const args = ["vitest", "run", ...projects.flatMap((each) => ["--project", each]), ...paths];
  return {
    name,
    command: ["npx", "--no-install", ...args],
    variables: [
      TIMEOUT,
      "EVERY_CASE=1",
      ...(seedOffset === undefined ? [] : [`TEST_SEED=${seed + seedOffset}`]),
      ...(node === undefined ? [] : [pathWith(node)]),
      ...Object.entries(environment).map(([key, value]) => `${key}=${value}`),
    ],
  };
}

function pathWith(node: 24 | 26): string {
  return `PATH=${dirname(nodeBinary(`node-${node}`))}:${process.env["PATH"] ?? ""}`;
}
