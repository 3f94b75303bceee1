import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import type { Handler, RequestContext } from "../context/request-context.ts";
import { createFairShares, DEFAULT_FAIR_SHARES } from "../limits/fair-shares.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { type ApiResponse, jsonResponse } from "../transport/api-response.ts";
import { deferred } from "../transport/testing/deferred.ts";
import { streamResponse } from "../transport/testing/serve-handler.ts";
import { http1, openHttp2, openTls, readAll } from "../transport/testing/test-clients.ts";
import { as, PODS, serveChain, tokensOfUsers } from "./testing/serve-chain.ts";

const fine: Handler = async () => jsonResponse(200, "{}");

/** For each lane, with no waiting requests. */
const onePlace = () =>
  createFairShares(
    { ...DEFAULT_FAIR_SHARES, places: { readOnly: 1, mutating: 1, urgent: 1 }, queueMs: 0 },
    systemRuntime,
  );

describe("flow control", () => {
  it("refuses what is too much at once, reads and writes apart, but never health checks and watches", async () => {
    const release = deferred();
    const arrivals: string[] = [];
    const arrived = deferred();
    const { port, metrics } = await serveChain(
      async ({ request, info }) => {
        if (info.verb === "watch") return streamResponse(async () => undefined);
        if (info.isResourceRequest) {
          arrivals.push(request.method);
          if (arrivals.length === 2) arrived.resolve();
          await release.promise;
        }
        return jsonResponse(200, "{}");
      },
      { shares: onePlace() },
    );
    const ask = (method: string, path: string) => http1({ port, method, path, headers: as("admin") });
    const held = [ask("GET", PODS), ask("DELETE", `${PODS}/x`)];
    await arrived.promise;
    expect(await metrics.registry.metrics()).toContain(
      'apiserver_current_inflight_requests{request_kind="mutating"} 1',
    );
    for (const method of ["GET", "POST"]) {
      const refused = await ask(method, PODS);
      expect(refused).toMatchObject({ status: 429, body: "Too many requests, please try again later.\n" });
      expect(refused.headers["retry-after"]).toBe("1");
    }
    expect((await ask("GET", `${PODS}?watch=1`)).status).toBe(200);
    expect((await ask("GET", "/healthz")).status).toBe(200);
    release.resolve();
    for (const response of await Promise.all(held)) expect(response.status).toBe(200);
    expect((await ask("GET", PODS)).status).toBe(200);
  });

  it("gives the place to others while a request waits outside of this server, and takes it again before it goes on", async () => {
    const answered = deferred();
    const waiting = deferred();
    const order: string[] = [];
    const shares = createFairShares(
      { ...DEFAULT_FAIR_SHARES, places: { readOnly: 1, mutating: 1, urgent: 1 } },
      systemRuntime,
    );
    const { port } = await serveChain(
      async (context) => {
        const { method } = context.request;
        if (method === "DELETE") {
          await context.outside?.(async () => {
            waiting.resolve();
            await answered.promise;
          });
        }
        order.push(method);
        return jsonResponse(200, "{}");
      },
      { shares },
    );
    const ask = (method: string, path: string) => http1({ port, method, path, headers: as("admin") });
    const held = ask("DELETE", `${PODS}/x`);
    await waiting.promise;
    expect((await ask("POST", PODS)).status).toBe(200);
    answered.resolve();
    expect((await held).status).toBe(200);
    expect(order).toEqual(["POST", "DELETE"]);
  });

  it("gives the place back for good once others do the rest, also of an answer that waits", async () => {
    let left = 0;
    const answered = deferred();
    const shares = createFairShares(
      { ...DEFAULT_FAIR_SHARES, places: { readOnly: 1, mutating: 1, urgent: 1 } },
      systemRuntime,
    );
    const { port } = await serveChain(
      async (context) => {
        if (context.request.method === "POST") return jsonResponse(200, "{}");
        context.leavePlace?.();
        left++;
        return streamResponse(async (sink) => {
          await sink.write("x");
          await answered.promise;
        });
      },
      { shares },
    );
    const ask = (method: string) => http1({ port, method, path: PODS, headers: as("admin") });
    const held = ["DELETE", "GET"].map(ask);
    await expect.poll(() => left).toBe(2);
    expect((await ask("POST")).status).toBe(200);
    answered.resolve();
    for (const { body } of await Promise.all(held)) expect(body).toBe("x");
    expect([shares.state.mutating.taken, shares.state.readOnly.taken]).toEqual([0, 0]);
  });

  it("has each part of a long answer, and of what a watch begins with, wait for its turn", async () => {
    const shares = createFairShares(DEFAULT_FAIR_SHARES, systemRuntime);
    const takeTurn = vi.spyOn(shares, "takeTurn");
    const { port } = await serveChain(
      async (context) =>
        streamResponse(async (sink) => {
          for (let part = 0; part < 5; part++) {
            using _ = await context.takeTurn?.();
            await sink.write("x");
          }
        }),
      { shares },
    );
    for (const path of [PODS, `${PODS}?watch=1`]) {
      takeTurn.mockClear();
      expect((await http1({ port, path, headers: as("admin") })).body).toBe("xxxxx");
      expect(takeTurn).toHaveBeenCalledTimes(5);
    }
  });

  it("takes one place again where a request has waited for several at once", async () => {
    const shares = createFairShares(
      { ...DEFAULT_FAIR_SHARES, places: { readOnly: 2, mutating: 1, urgent: 1 } },
      systemRuntime,
    );
    const { port } = await serveChain(
      async (context) => {
        await Promise.all([1, 2, 3].map(async () => await context.outside?.(async () => await Promise.resolve())));
        return jsonResponse(200, JSON.stringify(shares.state.readOnly.taken));
      },
      { shares },
    );
    for (let times = 0; times < 3; times += 1) {
      expect((await http1({ port, path: PODS, headers: as("admin") })).body).toBe("1");
    }
    expect(shares.state.readOnly.taken).toBe(0);
  });

  it("takes no place again for a request that has failed while it waited outside", async () => {
    const shares = createFairShares(DEFAULT_FAIR_SHARES, systemRuntime);
    const answered = deferred();
    let outside: Promise<unknown> | undefined;
    const { port } = await serveChain(
      async (context) => {
        outside = context.outside?.(() => answered.promise);
        throw new Error("the thread has ended");
      },
      { shares },
    );
    expect((await http1({ port, method: "POST", path: PODS, headers: as("admin") })).status).toBe(500);
    answered.resolve();
    await outside;
    expect(shares.state.mutating.taken).toBe(0);
  });

  it("takes no turn for a stream that has ended before it came", async () => {
    const shares = createFairShares(DEFAULT_FAIR_SHARES, systemRuntime);
    let written: boolean | Promise<boolean> = false;
    const { port } = await serveChain(
      async () =>
        streamResponse(async (sink) => {
          written = sink.write("x");
        }),
      { shares },
    );
    expect((await http1({ port, path: PODS, headers: as("admin") })).body).toBe("x");
    expect(await written).toBe(false);
    expect(shares.state.readOnly.taken).toBe(0);
  });

  it("gives the place back when the body of a response nobody reads is over", async () => {
    const { port } = await serveChain(async () => streamResponse(async (sink) => void (await sink.write("x"))), {
      shares: onePlace(),
    });
    for (let times = 0; times < 3; times += 1) {
      const response = await http1({ port, method: "HEAD", path: PODS, headers: as("admin") });
      expect(response.status).toBe(200);
    }
  });
});

describe("deadline", () => {
  it("answers 504, and aborts what was under way", async () => {
    const aborted = deferred<unknown>();
    const { port } = await serveChain(async ({ signal }) => {
      await once(signal, "abort");
      aborted.resolve(signal.reason);
      return jsonResponse(200, "{}");
    });
    const { status, body } = await http1({ port, path: `${PODS}?timeout=1ms`, headers: as("admin") });
    expect(status).toBe(504);
    expect(JSON.parse(body)).toMatchObject({
      reason: "Timeout",
      message: "Timeout: request did not complete within the allotted timeout",
    });
    expect(await aborted.promise).toMatchObject({ code: 504 });
  });

  it.each([
    ["bad", 'invalid timeout specified in the request URL - time: invalid duration "bad"'],
    ["10", 'invalid timeout specified in the request URL - time: missing unit in duration "10"'],
  ])("refuses timeout=%s", async (timeout, message) => {
    const { port } = await serveChain(fine);
    const { status, body } = await http1({ port, path: `${PODS}?timeout=${timeout}`, headers: as("admin") });
    expect([status, JSON.parse(body).message]).toEqual([400, message]);
  });

  it("takes a timeout beyond the maximum, or of nothing, as the maximum", async () => {
    const delays: number[] = [];
    const scheduler = {
      schedule(delayMs: number) {
        delays.push(delayMs);
        return { [Symbol.dispose]: () => undefined };
      },
    };
    const { port } = await serveChain(fine, { runtime: { ...systemRuntime, scheduler } });
    for (const query of ["", "?timeout=", "?timeout=0s", "?timeout=-5s", "?timeout=2h", "?timeout=1.5s"]) {
      await http1({ port, path: `${PODS}${query}`, headers: as("admin") });
    }
    expect(delays).toEqual([60_000, 60_000, 60_000, 60_000, 60_000, 1500]);
    await http1({ port, path: `${PODS}?watch=1&timeout=bad`, headers: as("admin") });
    expect(delays).toHaveLength(6);
  });
});

describe("requests that last", () => {
  const watch = (context: RequestContext): ApiResponse =>
    streamResponse(async (sink) => {
      const over = once(context.signal, "abort");
      await sink.write("event\n");
      await over;
    });

  it("end when their credential is revoked, and forget it when they end by themselves", async () => {
    const listeners = new Set<() => void>();
    const credential = {
      id: "k",
      onRevoked(listener: () => void) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    };
    const ended = deferred<unknown>();
    const { port, metrics } = await serveChain(
      async (context) => {
        context.signal.addEventListener("abort", () => ended.resolve(context.signal.reason));
        return watch(context);
      },
      { authenticator: tokensOfUsers({ "admin-token": credential }) },
    );
    const session = openHttp2(port);
    const stream = session.request({ ":path": `${PODS}?watch=1`, ...as("admin") });
    await once(stream, "data");
    expect(await metrics.registry.metrics()).toMatch(/apiserver_longrunning_requests\{verb="WATCH".*\} 1/);
    expect(listeners.size).toBe(1);
    for (const listener of listeners) listener();
    await once(stream, "end");
    expect(await ended.promise).toMatchObject({ code: 401 });
    expect(listeners.size).toBe(0);
    expect(await metrics.registry.metrics()).toMatch(/apiserver_longrunning_requests\{verb="WATCH".*\} 0/);
    session.destroy();
  });

  it("end cleanly when the server stops", async () => {
    const { port, transport } = await serveChain(async (context) => watch(context));
    const session = openHttp2(port);
    const stream = session.request({ ":path": `${PODS}?watch=1`, ...as("admin") });
    await once(stream, "data");
    const closed = transport.close({ drainMs: 10_000 });
    await once(stream, "end");
    expect(stream.rstCode).toBe(0);
    await closed;
    session.destroy();
  });

  it("take a token among WebSocket subprotocols, which nobody further on sees", async () => {
    const { port } = await serveChain(async ({ request, user }) =>
      jsonResponse(200, JSON.stringify([user.name, request.headers["sec-websocket-protocol"]])),
    );
    const token = Buffer.from("admin-token").toString("base64url");
    const protocols = `base64url.bearer.authorization.k8s.io.${token}, v4.channel.k8s.io`;
    const ask = async (lines: string[]) => {
      const socket = await openTls(port);
      socket.write(
        `GET ${PODS}?watch=1 HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines.join("\r\n")}\r\n\r\n`,
      );
      return readAll(socket);
    };
    expect(await ask([`Sec-WebSocket-Protocol: ${protocols}`])).toContain('["admin","v4.channel.k8s.io"]');
    expect(await ask([`Sec-WebSocket-Protocol: ${protocols.split(",")[0]}`])).toMatch(/^HTTP\/1.1 401 /);
    const both = [`Sec-WebSocket-Protocol: ${protocols}`, "Authorization: Bearer admin-token"];
    expect(await ask(both)).toMatch(/^HTTP\/1.1 400 /);
  });
});
