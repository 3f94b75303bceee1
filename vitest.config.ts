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

const ETCD_TESTS = ["packages/stores/src/etcd/**/*.test.ts"];

export default defineConfig({
  test: {
    // The default leaves a core to others, and of two cores uses one.
    maxWorkers: "100%",
    projects: [
      {
        ...shared,
        test: {
          ...secretScan,
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "tools/**/*.test.ts"],
          exclude: ETCD_TESTS,
          // Modules are loaded once for all files of a worker: half of the time would be theirs. Tests keep nothing in modules.
          isolate: false,
          ...patience,
        },
      },
      // Beside their source, but too slow to be run with every change: they start clusters, and stop members of them.
      { ...shared, test: { ...secretScan, name: "etcd", include: ETCD_TESTS, ...patience } },
      {
        ...shared,
        test: {
          ...secretScan,
          name: "system",
          include: ["test/**/*.test.ts"],
          ...patience,
          fileParallelism: false,
          globalSetup: [secretScan.globalSetup, "test/e2e/testing/shared-etcd.ts"],
        },
      },
    ],
  },
});
