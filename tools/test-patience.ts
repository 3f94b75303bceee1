// Runs in every test worker before the tests (vitest's setupFiles): `vi.waitFor` waits as long as `expect.poll`. Its own limit is a second,
// which a busy machine exceeds easily.

import { vi } from "vitest";

/** In milliseconds. Only a test that hangs reaches it. */
const PATIENCE_MS = 60_000;

// One worker may run many files of tests.
if (vi.waitFor.name !== "waitPatiently") {
  const { waitFor } = vi;
  vi.waitFor = function waitPatiently(callback, options = {}) {
    const { timeout = PATIENCE_MS, ...others } = typeof options === "number" ? { timeout: options } : options;
    return waitFor(callback, { timeout, ...others });
  };
}
