// What `npm test` runs: unit tests beside the source, and the suites under test/ that start real servers.
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { failedFiles } from "./tools/test-cost/failed-files.ts";
import { mostExpensiveFiles } from "./tools/test-cost/most-expensive-files.ts";

// npm sets it to production, because .npmrc leaves out what only checks and tests need.
process.env["NODE_ENV"] = "test";

const conditions = ["@postern/source"];

/** Files of programs that this machine does not have, one a line: projects do not see `--exclude`. */
const LEFT_OUT = (process.env["TEST_FILES_LEFT_OUT"] ?? "").split("\n").filter((file) => file !== "");

const shared = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
};

/** Milliseconds. By night tests do more, and have longer: what a project sets outweighs `--testTimeout`. */
const patienceFrom = (byDay: number) => {
  const timeout = Number(process.env["TEST_TIMEOUT"] ?? byDay);
  return { testTimeout: timeout, hookTimeout: timeout, expect: { poll: { timeout: 60_000 } } };
};
// Only a test that hangs reaches these: a sound one takes a third at most. How fast something is decides no test.
const patience = patienceFrom(60_000);
const longPatience = patienceFrom(600_000);

/** Every secret of the run is looked for in all that the run leaves behind. */
const secretScan = {
  globalSetup: "tools/secret-scan/scan-run.ts",
  setupFiles: [
    "tools/test-cost/record-cost.ts",
    "tools/secret-scan/record-exchanges.ts",
    "tools/test-seed.ts",
    "tools/test-patience.ts",
  ],
};

const unit = { ...secretScan, globalSetup: [secretScan.globalSetup, "tools/build-workers.ts"] };

/** Each starts servers, stores and clients of its own, so that they run side by side: most of their time they wait. */
const system = {
  ...secretScan,
  ...patience,
  globalSetup: [secretScan.globalSetup, "test/e2e/testing/fresh-build.ts", "test/e2e/testing/shared-etcd.ts"],
};

/** What measures memory, or how soon something has happened: one after the other, when all others are through. */
const MEASURING = ["test/e2e/flat-memory.test.ts"];

/** What takes too long for `npm test`: `npm run nightly` has it, and `npx vitest run FILE`. */
const LONG = [
  "test/e2e/cluster-tunnel-namespaces.test.ts",
  "test/e2e/cluster-tunnel-noise.test.ts",
  "packages/stores/src/etcd/etcd-faults.test.ts",
  "packages/stores/src/etcd/etcd-leader-election.test.ts",
  "test/attacks/denial-of-service.test.ts",
  "test/attacks/expired-key.test.ts",
  "test/attacks/full-budgets.test.ts",
  "test/attacks/linear-work.test.ts",
  "test/attacks/many-targets.test.ts",
  "test/attacks/silent-connections.test.ts",
  "test/attacks/slow-requests.test.ts",
  "test/attacks/slow-watchers.test.ts",
  "test/conformance/resource-suite.test.ts",
  "test/attacks/thrown-errors.test.ts",
  "test/crash/audit-full-disk.test.ts",
  "test/crash/clock-jumps.test.ts",
  "test/crash/ended-fronts.test.ts",
  "test/crash/ended-together.test.ts",
  "test/crash/exchange-burst.test.ts",
  "test/crash/full-disk.test.ts",
  "test/crash/interrupted-copy.test.ts",
  "test/crash/interrupted-restore.test.ts",
  "test/crash/key-rotation.test.ts",
  "test/crash/leader-standstill.test.ts",
  "test/crash/linearizable-servers.test.ts",
  "test/crash/lost-store.test.ts",
  "test/crash/partition-threads.test.ts",
  "test/crash/partition.test.ts",
  "test/crash/power-loss.test.ts",
  "test/crash/revocation-many.test.ts",
  "test/crash/revocation-time.test.ts",
  "test/crash/revocation.test.ts",
  "test/crash/single-use.test.ts",
  "test/crash/stalled-front.test.ts",
  "test/e2e/console-directory.test.ts",
  "test/e2e/console-figures.test.ts",
  "test/e2e/console-forms.test.ts",
  "test/e2e/doctor-etcd.test.ts",
  "test/e2e/flat-churn.test.ts",
  "test/e2e/informers.test.ts",
  "test/e2e/kubectl-releases.test.ts",
  "test/e2e/moving-stores.test.ts",
  "test/e2e/onboarding-clients.test.ts",
  "test/e2e/sign-in-clock.test.ts",
  "test/e2e/soak.test.ts",
  "test/install/first-commands.test.ts",
  "test/install/readme-table.test.ts",
  "test/install/single-file.test.ts",
  "test/simulation/servers.test.ts",
  "test/simulation/watch-cache.test.ts",
];

/**
 * What rarely fails and costs much, beside cheaper files of the same area that `npm test` keeps. `npm run nightly` has it on every Node and store, and
 * `npx vitest run FILE`.
 */
const LONG_PARALLEL = [
  // Beside console, console-keys, console-home, some of console-accessibility, and attacks/browser-session.
  "test/e2e/console-clusters.test.ts",
  "test/e2e/console-hostile-texts.test.ts",
  "test/e2e/console-jobs.test.ts",
  "test/e2e/console-journeys.test.ts",
  "test/e2e/console-next-steps.test.ts",
  "test/e2e/console-pages.test.ts",
  "test/e2e/console-session.test.ts",
  "test/e2e/console-tables.test.ts",
  "test/e2e/console-tasks.test.ts",
  // Beside startup, tour, kill-nine of a server, and the attacks on other things that two servers share.
  "test/attacks/sign-in-replicas.test.ts",
  "test/attacks/trust-replicas.test.ts",
  "test/crash/kill-nine.test.ts",
  "test/e2e/doctor.test.ts",
  "test/e2e/long-commands.test.ts",
  // Beside metrics and the unit tests of both.
  "test/e2e/bootstrap.test.ts",
  "test/e2e/notices.test.ts",
  // Beside crash/cluster-threads, crowded-threads and attacks/shared-threads.
  "test/attacks/cluster-threads.test.ts",
  "test/crash/ended-threads.test.ts",
  // Beside cli, login, read-only-kubeconfig and kubeconfig-action.
  "test/e2e/platform-choice.test.ts",
  "test/e2e/credential-expiry.test.ts",
  "test/e2e/kubeconfig-command.test.ts",
  // Beside front-threads and private-ca, which change certificates too.
  "test/e2e/certificate-reload.test.ts",
  // Beside kubectl, kubectl-streams, kubectl-virtual-cluster, replayed-helm, replayed-terraform and test/conformance.
  "test/e2e/cluster-kinds.test.ts",
  "test/e2e/conversion-webhooks.test.ts",
  "test/e2e/custom-owners.test.ts",
  "test/e2e/custom-resources.test.ts",
  "test/e2e/every-field.test.ts",
  "test/e2e/helm.test.ts",
  "test/e2e/kubectl-commands.test.ts",
  "test/e2e/kubectl-platform.test.ts",
  "test/e2e/kubectl-prune.test.ts",
  "test/e2e/kubernetes-tools.test.ts",
  "test/e2e/prepared-clusters.test.ts",
  "test/e2e/terraform.test.ts",
  "test/e2e/workload-controllers.test.ts",
  // Beside the attacks on webhooks, tour, ci-login, connected-cluster and watches-through-two.
  "test/e2e/admission-policies.test.ts",
  "test/e2e/admission-webhooks.test.ts",
  "test/e2e/canary.test.ts",
  "test/e2e/ci-examples.test.ts",
  "test/e2e/embed-examples.test.ts",
  "test/e2e/embed.test.ts",
  "test/e2e/onboarding.test.ts",
  "test/e2e/two-posterns.test.ts",
  "test/attacks/shared-etcd.test.ts",
  // Beside front-proxy and kubeconfig-generators of one server.
  "test/attacks/front-proxy-replicas.test.ts",
  "test/attacks/generator-replicas.test.ts",
  // Beside attacks/access-replicas and the unit tests of issued keys.
  "test/attacks/issued-elsewhere.test.ts",
  // Beside the unit tests of the upstream proxy: one notice takes half a minute.
  "test/attacks/outbound-proxy.test.ts",
  // Beside longest-turn, and the unit tests of budgets; by night with all kinds.
  "test/attacks/products.test.ts",
  // Beside missing-fields, malformed-bodies and open-streams.
  "test/attacks/deep-objects.test.ts",
  "test/attacks/gone-clients.test.ts",
  // Beside the unit tests of the last use.
  "test/attacks/last-use.test.ts",
  // Beside the unit tests of rotated clusters.
  "test/attacks/authority-rotation.test.ts",
  "test/attacks/platform-authority.test.ts",
  // Beside golden, which replays the same recordings.
  "test/conformance/embedded-golden.test.ts",
  // Beside npm-package, kubernetes and systemd.
  "test/install/container.test.ts",
  "test/install/systemd-machine.test.ts",
];

/** Some of what holds wherever servers keep their objects; all of it runs on each store by night. */
const ON_ETCD = [
  "test/conformance/{delete,list,update,watch}.test.ts",
  "test/e2e/{javascript-client,kubeconfig-action,service-account-tokens}.test.ts",
];

const ETCD_TESTS = ["packages/stores/src/etcd/**/*.test.ts"];

export default defineConfig({
  test: {
    // Half of the time of those that start servers is waiting.
    maxWorkers: availableParallelism() + 2,
    reporters: ["default", mostExpensiveFiles, failedFiles],
    // Workers end while the scan for secrets keeps whoever waits for them busy.
    teardownTimeout: 120_000,
    // A module is transformed once for all projects, and not again while it stays as it is: node_modules/.experimental-vitest-cache.
    experimental: { fsModuleCache: true },
    projects: [
      {
        ...shared,
        test: {
          ...unit,
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "tools/**/*.test.ts"],
          exclude: [...ETCD_TESTS, ...LEFT_OUT],
          // Modules are loaded once for all files of a worker: half of the time would be theirs. Tests keep nothing in modules.
          isolate: false,
          // They hardly wait, and each worker loads all modules. Another number of workers needs a turn of its own: after the others.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 1 },
          // Collections of short-lived garbage are a tenth of their time where this is left at 16 MB.
          execArgv: ["--max-semi-space-size=64"],
          ...patience,
        },
      },
      // Beside their source, but too slow to be run with every change: they start clusters, and stop members of them.
      { ...shared, test: { ...unit, name: "etcd", include: ETCD_TESTS, exclude: [...LONG, ...LEFT_OUT], ...patience } },
      {
        ...shared,
        // As for units: what a file starts is its own, what it imports is not.
        test: {
          ...system,
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: [...MEASURING, ...LONG, ...LONG_PARALLEL, ...LEFT_OUT],
          isolate: false,
        },
      },
      { ...shared, test: { ...system, name: "long-parallel", include: LONG_PARALLEL, isolate: false } },
      {
        ...shared,
        test: { ...system, name: "system on etcd", include: ON_ETCD, exclude: LEFT_OUT, env: { STORES: "etcd" } },
      },
      {
        ...shared,
        test: {
          ...system,
          name: "long-measuring",
          include: MEASURING,
          fileParallelism: false,
          env: { STORES: "sqlite" },
        },
      },
      { ...shared, test: { ...system, ...longPatience, name: "long", include: LONG, fileParallelism: false } },
    ],
  },
});
