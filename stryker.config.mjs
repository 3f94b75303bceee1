// Mutation testing of the code that decides who may do what: `npm run mutation`. Figures of a run: test/mutation/RESULTS.md.

export default {
  testRunner: "vitest",
  vitest: { configFile: "vitest.mutation.config.ts", related: false },
  plugins: ["@stryker-mutator/vitest-runner"],
  mutate: [
    "packages/apiserver/src/authorization/rbac/*.ts",
    "packages/platform/src/authorization/*.ts",
    "packages/platform/src/access-keys/is-within.ts",
    "packages/platform/src/access-keys/key-refusal.ts",
    "!**/*.test.ts",
  ],
  ignorePatterns: ["/docs", "/test", "/benchmarks", "/examples", "/deploy", "/dist", "/packages/*/dist", "/reports"],
  coverageAnalysis: "perTest",
  concurrency: 1,
  disableTypeChecks: false,
  incremental: true,
  incrementalFile: "reports/mutation/incremental.json",
  reporters: ["clear-text", "progress", "json"],
  jsonReporter: { fileName: "reports/mutation/mutation.json" },
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
  // There is no such file: Stryker would rewrite the paths in it through TypeScript's programming interface, which version 7 has not.
  tsconfigFile: "none.json",
  tempDirName: ".stryker-tmp",
  // Long enough for a machine with other work to do: a mutant that was only slow would count as found.
  timeoutMS: 60_000,
  thresholds: { high: 98, low: 95, break: 95 },
};
