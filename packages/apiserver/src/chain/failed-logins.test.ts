import { expect, it } from "vitest";
import type { Scheduler } from "../runtime/clock.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { jsonResponse } from "../transport/api-response.ts";
import { http1 } from "../transport/testing/test-clients.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import { as, PODS, serveChain } from "./testing/serve-chain.ts";

it("security book 26: holds back who guesses, and nobody with a good credential at the same address", async () => {
  const held: (() => void)[] = [];
  const scheduler: Scheduler = {
    schedule: (delayMs, task) => {
      // The hold alone: deadlines and keep-alives are left to the real one.
      if (delayMs !== 1_000) return systemRuntime.scheduler.schedule(delayMs, task);
      held.push(task);
      return { [Symbol.dispose]: () => {} };
    },
  };
  const { port } = await serveChain(async () => jsonResponse(200, "{}"), {
    runtime: { ...systemRuntime, scheduler },
    failedLogins: createRateLimiter({ qps: 0.001, burst: 2 }, systemRuntime.clock),
  });
  const guess = (forwarded = "") =>
    http1({
      port,
      method: "GET",
      path: PODS,
      headers: { authorization: "Bearer guess", "x-forwarded-for": forwarded },
    });
  expect([(await guess()).status, (await guess()).status, held.length]).toEqual([401, 401, 0]);

  let answered = 0;
  const waiting = ["", "192.0.2.1", "192.0.2.2"].map((forwarded) => guess(forwarded).finally(() => answered++));
  while (held.length < 3) await new Promise((resolve) => setImmediate(resolve));
  const good = await http1({ port, method: "GET", path: PODS, headers: as("admin") });
  expect([good.status, answered]).toEqual([200, 0]);

  for (const release of held) release();
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(401);
});
