// What `npm test` runs: unit tests beside the source, and the suites under test/ that start real servers.
import { defineConfig } from "vitest/config";

const conditions = ["@postern/source"];
const shared = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
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
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "tools/**/*.test.ts"],
          exclude: ETCD_TESTS,
          // Modules are loaded once for all files of a worker: half of the time would be theirs. Tests keep nothing in modules.
          isolate: false,
          testTimeout: 20_000,
        },
      },
      // Beside their source, but too slow to be run with every change: they start clusters, and stop members of them.
      { ...shared, test: { name: "etcd", include: ETCD_TESTS, testTimeout: 20_000 } },
      {
        ...shared,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
