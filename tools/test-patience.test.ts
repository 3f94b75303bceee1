import { expect, it, vi } from "vitest";

it("lets `vi.waitFor` wait for more than a second", async () => {
  const begun = performance.now();
  await vi.waitFor(() => expect(performance.now() - begun).toBeGreaterThan(1_100));
});
