// A test run with every kind of leak, for the test of the secret scan.
import { defineConfig } from "vitest/config";

const conditions = ["@postern/source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    root: new URL("../../..", import.meta.url).pathname,
    include: ["tools/secret-scan/testing/planted-leaks.ts"],
    globalSetup: "tools/secret-scan/scan-run.ts",
    setupFiles: "tools/secret-scan/record-exchanges.ts",
    testTimeout: 120_000,
  },
});
