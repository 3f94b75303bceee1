import { expect, it } from "vitest";
import { createServerMetrics } from "./server-metrics.ts";

const sharesWith = (taken: number, waiting: number, bodies: number) => {
  const lane = { taken, waiting };
  return { state: { readOnly: lane, mutating: lane, urgent: lane }, bodies };
};

it("shows the requests of all chains, each of the shares once", async () => {
  const metrics = createServerMetrics();
  const clients = sharesWith(3, 2, 1);
  metrics.followFairShares(clients);
  metrics.followFairShares(clients);
  // The chain of the server's own requests, which is made later.
  metrics.followFairShares(sharesWith(1, 0, 1));
  const text = await metrics.registry.metrics();
  expect(text).toContain('apiserver_current_inflight_requests{request_kind="readOnly"} 4\n');
  expect(text).toContain('apiserver_current_inqueue_requests{request_kind="mutating"} 2\n');
  expect(text).toContain("apiserver_current_request_bodies 2\n");
});
