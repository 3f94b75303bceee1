// Runs what `npm test` has no time for, one after the other: faults and crashes by the hundred, simulations of a thousand hours,
// properties by the hundred thousand, and whole suites on every store. Hours, all in all; says how long each took, and with which seed it is repeated.
// Usage: tsx tools/nightly.ts [word…]: with words, only the runs that have one in their name. TEST_SEED repeats a night.

import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { performance } from "node:perf_hooks";
import { nodeBinary } from "./release/node-binary.ts";

type Run = {
  readonly name: string;
  readonly project: "system" | "measuring" | "long" | "unit";
  readonly paths: readonly string[];
  readonly environment: Readonly<Record<string, string | number>>;
};

type Command = {
  readonly name: string;
  readonly command: readonly string[];
  /** Each as `NAME=value`. */
  readonly variables?: readonly string[];
};

const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

/** Milliseconds for a test, longer than any of them takes: vitest.config.ts reads it. */
const TIMEOUT = `TEST_TIMEOUT=${12 * 3_600_000}`;

/** The whole of a suite with its servers on one store. */
const onStore = (name: string, store: "memory" | "sqlite" | "etcd", path: string): Run => ({
  name,
  project: "system",
  paths: [path],
  environment: { STORES: store },
});

/** All tests of a project, and all servers that they start, on another Node. */
const onNode = (version: 24 | 26, project: "unit" | "system"): Run => ({
  name: `${project} tests on Node ${version}`,
  project,
  paths: [],
  environment: { PATH: `${dirname(nodeBinary(`node-${version}`))}:${process.env["PATH"] ?? ""}` },
});

const RUNS: readonly Run[] = [
  ...([24, 26] as const).flatMap((version) => [onNode(version, "unit"), onNode(version, "system")]),
  onStore("conformance on etcd", "etcd", "test/conformance"),
  onStore("conformance on SQLite", "sqlite", "test/conformance"),
  onStore("end to end on etcd", "etcd", "test/e2e"),
  onStore("end to end in memory", "memory", "test/e2e"),
  {
    name: "fifty tenants at once",
    project: "system",
    paths: ["test/e2e/onboarding.test.ts"],
    environment: { ONBOARDED_TENANTS: 50 },
  },
  {
    name: "fifty tenants at once by helm, Terraform and GitOps",
    project: "long",
    paths: ["test/e2e/onboarding-clients.test.ts"],
    environment: { ONBOARDED_TENANTS: 50 },
  },
  {
    name: "kill -9 of a server with traffic",
    project: "system",
    paths: ["test/crash/server-kill-nine.test.ts"],
    environment: { CRASH_SERVER_KILLS: 200 },
  },
  {
    name: "kill -9 of a writer",
    project: "system",
    paths: ["test/crash/kill-nine.test.ts"],
    environment: { CRASH_ROUNDS: 200 },
  },
  {
    name: "power losses under a writer",
    project: "long",
    paths: ["test/crash/power-loss.test.ts"],
    environment: { POWER_LOSSES: 2_000 },
  },
  {
    name: "linearizable stores",
    project: "system",
    paths: ["test/crash/linearizability.test.ts"],
    environment: { CRASH_OPERATIONS: 100_000 },
  },
  {
    name: "linearizable etcd in a torn network",
    project: "long",
    paths: ["test/crash/partition.test.ts"],
    environment: { CRASH_OPERATIONS: 100_000 },
  },
  {
    name: "linearizable servers",
    project: "long",
    paths: ["test/crash/linearizable-servers.test.ts"],
    environment: { CRASH_HTTP_OPERATIONS: 100_000 },
  },
  {
    name: "revocations, clocks and leaders",
    project: "long",
    paths: [
      "test/crash/revocation.test.ts",
      "test/crash/revocation-time",
      "test/attacks/expired-key",
      "test/crash/clock-jumps",
      "test/crash/leader-standstill",
      "test/crash/exchange-burst",
    ],
    environment: {},
  },
  {
    name: "full disks, interrupted copies and lost stores",
    project: "long",
    paths: ["full-disk", "interrupted", "key-rotation", "lost-store", "moving-stores"],
    environment: {},
  },
  {
    name: "every resource on each store",
    project: "long",
    paths: ["test/conformance/resource-suite.test.ts"],
    environment: { STORES: "sqlite,etcd" },
  },
  {
    name: "informers on each store",
    project: "long",
    paths: ["test/e2e/informers.test.ts"],
    environment: { STORES: "sqlite,etcd", INFORMER_OBJECTS: 2_000 },
  },
  {
    name: "every kubectl on each store",
    project: "system",
    paths: ["test/e2e/kubectl"],
    environment: { STORES: "sqlite,etcd", KUBECTL_RELEASES: "all" },
  },
  {
    name: "every kubectl and helm",
    project: "system",
    paths: ["credential-expiry", "every-field", "helm", "kubeconfig-command", "remote-credentials"],
    environment: { KUBECTL_RELEASES: "all" },
  },
  {
    name: "container build",
    project: "system",
    paths: ["test/install/container.test.ts"],
    environment: { CONTAINER_BUILD: 1 },
  },
  {
    name: "people sign in",
    project: "system",
    paths: ["test/e2e/sign-in.test.ts"],
    environment: { SIGN_INS: "all" },
  },
  {
    name: "losing every right with everything open",
    project: "system",
    paths: ["test/attacks/open-streams.test.ts"],
    environment: { ATTACK_STREAMS: "all" },
  },
  {
    name: "revocations by the thousand",
    project: "long",
    paths: ["test/crash/revocation-many.test.ts"],
    environment: { REVOCATIONS: 500, REVOCATIONS_WITH_FAULTS: 500, REVOCATION_BATCH: 34 },
  },
  {
    name: "denial of service",
    project: "long",
    paths: ["test/attacks/denial-of-service.test.ts"],
    environment: { DENIALS: "all", DENIAL_SECONDS: 5 },
  },
  {
    name: "watching programs that others wrote",
    project: "long",
    paths: ["test/e2e/soak.test.ts"],
    environment: { SOAK_SECONDS: 900 },
  },
  {
    name: "slow requests and silent connections",
    project: "long",
    paths: ["test/attacks/slow-requests.test.ts", "test/attacks/silent-connections.test.ts"],
    environment: {},
  },
  {
    name: "slow watchers",
    project: "long",
    paths: ["test/attacks/slow-watchers.test.ts"],
    environment: { SOAK_SECONDS: 900 },
  },
  {
    name: "memory under churn",
    project: "long",
    paths: ["test/e2e/flat-churn.test.ts"],
    environment: { CHURN_LIVES: 100_000 },
  },
  {
    name: "simulated watch caches",
    project: "long",
    paths: ["test/simulation/watch-cache.test.ts"],
    environment: { SIMULATION_HOURS: 1_000 },
  },
  {
    name: "simulated servers",
    project: "long",
    paths: ["test/simulation/servers.test.ts"],
    environment: { SIMULATION_SERVER_HOURS: 1_000 },
  },
  {
    name: "properties of the decision point",
    project: "unit",
    paths: ["packages/platform/src/authorization", "packages/platform/src/server/routes.property.test.ts"],
    environment: { POSTERN_PROPERTY_CASES: 300_000 },
  },
  {
    name: "malformed bodies",
    project: "system",
    paths: ["test/attacks/malformed-bodies.test.ts"],
    environment: { POSTERN_MALFORMED_BODIES: 30_000 },
  },
  {
    name: "recordings of upstream's functions over HTTP",
    project: "system",
    paths: ["test/conformance/recorded-functions.test.ts"],
    environment: { RECORDED_REQUESTS: 10_000 },
  },
  {
    name: "fuzz of every edge",
    project: "system",
    paths: ["test/attacks/fuzz.test.ts"],
    environment: { FUZZ_CASES: 20_000 },
  },
  {
    name: "attacks on every field of every kind",
    project: "long",
    paths: ["test/attacks/linear-work.test.ts"],
    environment: { ATTACK_FIELDS: 100_000 },
  },
];

/** On what this build has left, and then this build on what that one has. */
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

/** Multiples of the bare server's processor time, beside the committed ones: times themselves depend on the machine. */
const GATE: Command = {
  name: "processor time beside the bare server",
  command: ["npx", "--no-install", "tsx", "--conditions=@postern/source", "benchmarks/compare.ts", "--gate", "1.5"],
};

const words = process.argv.slice(2);
const isWanted = ({ name }: { readonly name: string }): boolean =>
  words.length === 0 || words.some((word) => name.includes(word));
const wanted = [...RUNS.map(commandOf), GOING_BACK, GATE].filter(isWanted);
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

function commandOf({ name, project, paths, environment }: Run): Command {
  const args = ["vitest", "run", "--project", project, ...paths];
  return {
    name,
    command: ["npx", "--no-install", ...args],
    variables: [TIMEOUT, ...Object.entries(environment).map(([key, value]) => `${key}=${value}`)],
  };
}
