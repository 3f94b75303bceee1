import { createTestContext } from "@postern/apiserver/testing/test-context";
import { expect, it } from "vitest";
import { TEST_VERSION } from "../../../server/testing/tenancy.ts";
import { createClusterMetrics } from "./cluster-metrics.ts";

it("counts requests beyond a number of series together", () => {
  const metrics = createClusterMetrics({
    version: TEST_VERSION,
    registry: () => ({ resources: [] }),
    stored: () => ({ objects: 0, bytes: 0 }),
  });
  const context = createTestContext({ url: "/api/v1/things" });
  for (let kind = 0; kind < 2_000; kind++) {
    const info = { ...context.info, isResourceRequest: true, verb: "list", resource: `things${kind}` };
    metrics.answered(context.with({ info }), true, 200);
  }
  const lines = metrics.text().match(/^apiserver_request_total.*$/gm) ?? [];
  expect(lines).toHaveLength(301);
  expect(lines.at(-1)).toContain('resource="other"');
  expect(lines.at(-1)).toMatch(/ 1700$/);
});
