// What mutation testing runs against every mutant: the unit tests of the decision code. See stryker.config.mjs.

import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Packages are taken from beside this file, so that in Stryker's copy of the repository the mutated ones are loaded. */
const packages = fileURLToPath(new URL("packages", import.meta.url));

/** A part of the path of the mutated file's own tests. */
const own = process.env["POSTERN_MUTATION_TESTS"] ?? "";

/** The first test that fails ends the run of a mutant: its own tests come first, then the quick ones, and the random ones last. */
class LikeliestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const cost = ({ moduleId }: TestSpecification): number => {
      if (own !== "" && moduleId.includes(own)) return 0;
      const loadsTheRegistry = /filter-by-visibility|membership-check/.test(moduleId);
      return statSync(moduleId).size + (moduleId.includes("propert") ? 2_000_000 : loadsTheRegistry ? 1_000_000 : 0);
    };
    return Promise.resolve([...files].sort((a, b) => cost(a) - cost(b)));
  }
}

export default defineConfig({
  resolve: {
    alias: [{ find: /^@postern\/([\w-]+)\/(.+)$/, replacement: `${packages}/$1/src/$2.ts` }],
  },
  test: {
    include: [
      "packages/apiserver/src/authorization/authorizers.test.ts",
      "packages/apiserver/src/authorization/rbac/rbac.test.ts",
      "packages/platform/src/features/authorization/**/*.test.ts",
      "packages/platform/src/features/access-keys/{is-within,key-expiration,key-refusal}.test.ts",
    ],
    isolate: false,
    testTimeout: 120_000,
    sequence: { sequencer: LikeliestFirst },
    // Whether a mutant survives must not hang on chance; the property tests themselves draw other cases with every run.
    env: { POSTERN_PROPERTY_CASES: "192", TEST_SEED: "20260105", POSTERN_PROPERTY_SHRINK: "0" },
  },
});
