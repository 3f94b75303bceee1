// Runs in every worker of the tests before them (vitest's setupFiles): the seed of everything that is drawn. The gate draws the same on every
// run, so that a commit passes or fails by itself; `npm run nightly` draws anew.

import fc from "fast-check";

const GATE_SEED = "20261123";

process.env["TEST_SEED"] ??= GATE_SEED;
fc.configureGlobal({ seed: Number(process.env["TEST_SEED"]) });
