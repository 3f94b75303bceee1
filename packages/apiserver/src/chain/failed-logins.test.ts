import { expect, it } from "vitest";
import { createRateLimiter } from "../limits/rate-limiter.ts";
import type { Scheduler } from "../runtime/clock.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { jsonResponse } from "../transport/api-response.ts";
import { http1, http2, openHttp2 } from "../transport/testing/test-clients.ts";
import { as, PODS, serveChain, tokensOfUsers } from "./testing/serve-chain.ts";

it("delays guesses, and no valid credential from the same address (security book 26)", async () => {
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

it("checks credentials one at a time on a connection with failed logins, also if no client waits (security book 25)", async () => {
  const looked: string[] = [];
  const held: (() => void)[] = [];
  const scheduler: Scheduler = {
    schedule(delayMs, task) {
      if (delayMs !== 1_000) return systemRuntime.scheduler.schedule(delayMs, task);
      held.push(task);
      return { [Symbol.dispose]: () => {} };
    },
  };
  const users = tokensOfUsers();
  const { port } = await serveChain(async () => jsonResponse(200, "{}"), {
    runtime: { ...systemRuntime, scheduler },
    failedLogins: createRateLimiter({ qps: 0.001, burst: 2 }, systemRuntime.clock),
    authenticator: {
      authenticate(request) {
        looked.push(String(request.headers["authorization"]));
        return users.authenticate(request);
      },
    },
  });
  const session = openHttp2(port);
  const guess = (number: number) => ({ ":path": PODS, authorization: `Bearer guess-${number}` });
  for (const number of [1, 2]) expect((await http2(session, guess(number))).status).toBe(401);

  const streams = Array.from({ length: 50 }, (_, at) => session.request(guess(at + 3)));
  for (const stream of streams) stream.on("error", () => undefined).resume();
  await expect.poll(() => held.length).toBe(2);
  // Nor does it help to give up on the answers.
  for (const stream of streams.slice(0, 40)) stream.close();
  const good = await http1({ port, path: PODS, headers: as("admin") });
  expect([good.status, looked.length]).toEqual([200, 4]);
  for (const release of held.splice(0)) release();
  await expect.poll(() => held.length).toBe(2);
  expect(looked).toHaveLength(5);
  session.destroy();
});

it("checks credentials of other clients at once on a connection of a trusted proxy", async () => {
  const held: (() => void)[] = [];
  const scheduler: Scheduler = {
    schedule(delayMs, task) {
      if (delayMs !== 1_000) return systemRuntime.scheduler.schedule(delayMs, task);
      held.push(task);
      return { [Symbol.dispose]: () => {} };
    },
  };
  const { port } = await serveChain(
    async () => jsonResponse(200, "{}"),
    {
      runtime: { ...systemRuntime, scheduler },
      failedLogins: createRateLimiter({ qps: 0.001, burst: 1 }, systemRuntime.clock),
    },
    {
      networks: [{ octets: Uint8Array.from([127, 0, 0, 1]), bits: 32 }],
      header: "x-forwarded-for",
      sendProxyProtocol: false,
    },
  );
  const session = openHttp2(port);
  const from = (address: string, headers: object) => ({ ":path": PODS, ...headers, "x-forwarded-for": address });
  const guess = from("192.0.2.1", { authorization: "Bearer guess" });
  expect((await http2(session, guess)).status).toBe(401);
  const waiting = [http2(session, guess), http2(session, guess)];
  await expect.poll(() => held.length).toBeGreaterThan(0);
  expect((await http2(session, from("192.0.2.2", as("admin")))).status).toBe(200);
  let answered = 0;
  for (const each of waiting) void each.then(() => answered++);
  await expect
    .poll(() => {
      for (const release of held.splice(0)) release();
      return answered;
    })
    .toBe(2);
  session.destroy();
});
