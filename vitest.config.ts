// What `npm test` runs: unit tests beside the source, and the suites under test/ that start real servers.
import { defineConfig } from "vitest/config";

const conditions = ["@postern/source"];
const shared = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
};

// For tests that hang alone: no machine is so slow that a sound one takes as long. How fast something is decides no test.
const patience = { testTimeout: 360_000, hookTimeout: 360_000, expect: { poll: { timeout: 60_000 } } };

/** Every secret of the run is looked for in all that the run leaves behind. */
const secretScan = {
  globalSetup: "tools/secret-scan/scan-run.ts",
  setupFiles: "tools/secret-scan/record-exchanges.ts",
};

const unit = { ...secretScan, globalSetup: [secretScan.globalSetup, "tools/build-workers.ts"] };

/** Each starts servers, stores and clients of its own, so that they run side by side: most of their time they wait. */
const system = {
  ...secretScan,
  ...patience,
  globalSetup: [secretScan.globalSetup, "test/e2e/testing/fresh-build.ts", "test/e2e/testing/shared-etcd.ts"],
};

/** What measures memory, or how soon something has happened, or sets clocks: one after the other, when all others are through. */
const MEASURING = [
  "test/e2e/flat-memory.test.ts",
  "test/crash/{clock-jumps,leader-standstill,revocation,revocation-many,revocation-time}.test.ts",
];

/** Some of what holds wherever servers keep their objects, in less than a minute; all of it runs on each store by night. */
const ANY_STORE = {
  conformance: ["test/conformance/{apply,delete,list,owners,patch,update,watch}.test.ts"],
  endToEnd: ["test/e2e/{javascript-client,kubeconfig-action,service-account-tokens}.test.ts"],
};

const systemOn = (store: string, include: string[]) => ({
  ...shared,
  test: { ...system, name: `system on ${store}`, include, env: { STORES: store } },
});

const ETCD_TESTS = ["packages/stores/src/etcd/**/*.test.ts"];

export default defineConfig({
  test: {
    // The default leaves a core to others, and of two cores uses one.
    maxWorkers: "100%",
    // Workers end while the scan for secrets keeps whoever waits for them busy.
    teardownTimeout: 120_000,
    projects: [
      {
        ...shared,
        test: {
          ...unit,
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "tools/**/*.test.ts"],
          exclude: ETCD_TESTS,
          // Modules are loaded once for all files of a worker: half of the time would be theirs. Tests keep nothing in modules.
          isolate: false,
          ...patience,
        },
      },
      // Beside their source, but too slow to be run with every change: they start clusters, and stop members of them.
      { ...shared, test: { ...unit, name: "etcd", include: ETCD_TESTS, ...patience } },
      { ...shared, test: { ...system, name: "system", include: ["test/**/*.test.ts"], exclude: MEASURING } },
      {
        ...shared,
        test: { ...system, name: "measuring", include: MEASURING, fileParallelism: false, env: { STORES: "sqlite" } },
      },
      systemOn("etcd", [...ANY_STORE.conformance, ...ANY_STORE.endToEnd]),
      // What these leave out has run on that store as "system" already.
      systemOn("sqlite", ANY_STORE.conformance),
      systemOn("memory", ANY_STORE.endToEnd),
    ],
  },
});
