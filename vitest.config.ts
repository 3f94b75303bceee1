// What `npm test` runs: unit tests beside the source, and the suites under test/ that start real servers.
import { defineConfig } from "vitest/config";

const conditions = ["@postern/source"];
const shared = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
};

export default defineConfig({
  test: {
    projects: [
      {
        ...shared,
        test: { name: "unit", include: ["packages/*/src/**/*.test.ts", "tools/**/*.test.ts"], testTimeout: 20_000 },
      },
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
