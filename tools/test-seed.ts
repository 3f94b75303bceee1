// Runs in every test worker before the tests (vitest's setupFiles): sets the seed of random cases. The gate uses the same seed on every
// run, so that the result depends only on the commit; `npm run nightly` uses a new one.

import fc from "fast-check";

const GATE_SEED = "20261123";

process.env["TEST_SEED"] ??= GATE_SEED;
fc.configureGlobal({ seed: Number(process.env["TEST_SEED"]) });
