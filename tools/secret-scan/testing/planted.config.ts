// A test run that leaks a key in every way there is, for the test of what looks for leaks.
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
