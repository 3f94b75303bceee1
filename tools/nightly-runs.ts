// The runs of `npm run nightly`, which `npm test` has no time for.

export type Run = {
  readonly name: string;
  /** Files of `system` may be in `long-parallel` instead: a run of `system` includes them. */
  readonly project: "system" | "long-parallel" | "long-measuring" | "long" | "unit";
  readonly paths: readonly string[];
  readonly environment: Readonly<Record<string, string | number>>;
  /** Added to the seed of the night, so that parts of one run use different cases. Default: 0. */
  readonly seedOffset?: number;
  /** The Node version of the tests and of all servers that they start. Default: the version of the run. */
  readonly node?: 24 | 26;
};

/** A whole suite with its servers on one store. */
const onStore = (name: string, store: "memory" | "sqlite" | "etcd", path: string): Run => ({
  name,
  project: "system",
  paths: [path],
  environment: { STORES: store },
});

/** A whole suite whose servers have three threads that serve requests, each with threads of virtual clusters, in front of etcd. */
const onThreads = (name: string, path: string): Run => ({
  name: `${name} with threads on etcd`,
  project: "system",
  paths: [path],
  environment: { STORES: "etcd", FRONT_THREADS: 3, CLUSTER_THREADS: 2 },
  node: 24,
});

const onNode = (node: 24 | 26, project: "unit" | "system"): Run => ({
  name: `${project} tests on Node ${node}`,
  project,
  paths: [],
  environment: {},
  node,
});

/** Servers of tests have three threads that serve requests, and of these and the cluster threads 20 end in a minute. */
const ENDING_THREADS = { FRONT_THREADS: 3, THREADS_END: 20 } as const;

/** Each part takes some minutes. Some edges have ten inputs per case, with the following seeds. */
const FUZZ = { parts: 10, cases: 2_000, seedsOfCase: 10 } as const;

export const NIGHTLY_RUNS: readonly Run[] = [
  { name: "expensive files", project: "long-parallel", paths: [], environment: {} },
  ...([24, 26] as const).flatMap((version) => [onNode(version, "unit"), onNode(version, "system")]),
  onStore("conformance on etcd", "etcd", "test/conformance"),
  onStore("conformance on SQLite", "sqlite", "test/conformance"),
  onStore("end to end on etcd", "etcd", "test/e2e"),
  onStore("end to end in memory", "memory", "test/e2e"),
  onThreads("end to end", "test/e2e"),
  onThreads("attacks", "test/attacks"),
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
    name: "an error thrown in every callback of a server",
    project: "long",
    paths: ["test/attacks/thrown-errors.test.ts"],
    environment: {},
  },
  {
    name: "a memory limit with full budgets",
    project: "long",
    paths: ["test/attacks/full-budgets.test.ts"],
    environment: {},
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
    name: "tunnels over a bad network, and out of a closed one",
    project: "long",
    paths: ["test/e2e/cluster-tunnel-noise.test.ts", "test/e2e/cluster-tunnel-namespaces.test.ts"],
    environment: {},
  },
  {
    name: "threads that serve requests and end at random",
    project: "long",
    paths: ["test/crash/ended-fronts.test.ts", "test/crash/ended-together.test.ts", "test/crash/single-use.test.ts"],
    environment: { CRASH_HTTP_OPERATIONS: 20_000, REVOCATIONS: 30, ENDS_SECONDS: 300, SINGLE_USE_ROUNDS: 60 },
    node: 24,
  },
  {
    name: "linearizable servers and revocations while threads end",
    project: "long",
    paths: [
      "linearizable-servers",
      "crash/revocation.test",
      "crash/revocation-many",
      "lost-store",
      "leader-standstill",
      "full-disk",
      "key-rotation",
      "revocation-time",
    ],
    environment: { ...ENDING_THREADS, CRASH_HTTP_OPERATIONS: 20_000, REVOCATIONS: 30, REVOCATIONS_WITH_FAULTS: 30 },
    node: 24,
  },
  {
    name: "kill -9 of a server whose threads end",
    project: "system",
    paths: ["test/crash/server-kill-nine.test.ts"],
    environment: { ...ENDING_THREADS, CRASH_SERVER_KILLS: 50 },
    node: 24,
  },
  {
    name: "a thread that serves requests and stands still",
    project: "long",
    paths: ["test/crash/stalled-front.test.ts"],
    environment: {},
    node: 24,
  },
  {
    name: "threads that lose etcd",
    project: "long",
    paths: ["test/crash/partition-threads.test.ts"],
    environment: {},
    node: 24,
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
    name: "the oldest and the newest kubectl, and those between",
    project: "long",
    paths: ["test/e2e/kubectl-releases.test.ts"],
    environment: { STORES: "sqlite,etcd", KUBECTL_RELEASES: "all" },
  },
  {
    name: "container build",
    project: "system",
    paths: ["test/install/container.test.ts"],
    environment: { CONTAINER_BUILD: 1 },
  },
  {
    name: "people sign in while clocks differ",
    project: "long",
    paths: ["test/e2e/sign-in-clock.test.ts"],
    environment: {},
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
    name: "watches through many clusters of one project",
    project: "long",
    paths: ["test/attacks/many-targets.test.ts"],
    environment: {},
  },
  {
    name: "streams at flat memory",
    project: "long-measuring",
    paths: ["test/e2e/flat-memory.test.ts"],
    environment: {},
  },
  {
    name: "an etcd that is broken, as the store and doctor see it",
    project: "long",
    paths: ["test/e2e/doctor-etcd.test.ts", "packages/stores/src/etcd"],
    environment: {},
  },
  {
    name: "directory, forms and figures of the console",
    project: "long",
    paths: ["test/e2e/console-directory.test.ts", "test/e2e/console-forms.test.ts", "test/e2e/console-figures.test.ts"],
    environment: {},
  },
  {
    name: "the single executable",
    project: "long",
    paths: ["test/install/single-file.test.ts"],
    environment: {},
  },
  {
    name: "the commands and the table of the README",
    project: "long",
    paths: ["test/install/first-commands.test.ts", "test/install/readme-table.test.ts"],
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
    paths: ["packages/platform/src/features/authorization", "packages/platform/src/server/routes.property.test.ts"],
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
  ...Array.from({ length: FUZZ.parts }, (_, part) => ({
    name: `fuzz of every edge, part ${part + 1} of ${FUZZ.parts}`,
    project: "system" as const,
    paths: ["test/attacks/fuzz.test.ts"],
    environment: { FUZZ_CASES: FUZZ.cases },
    seedOffset: part * FUZZ.cases * FUZZ.seedsOfCase,
  })),
  {
    name: "attacks on every field of every kind",
    project: "long",
    paths: ["test/attacks/linear-work.test.ts"],
    environment: { ATTACK_FIELDS: 100_000 },
  },
];
