import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { expect, it, onTestFinished } from "vitest";
import { createAddressRules } from "./address-rules.ts";
import { DEFAULT_UPSTREAM_LIMITS } from "./upstream-connections.ts";
import { createDialer } from "./upstream-dialer.ts";
import { exchange, type UpstreamAnswer } from "./upstream-exchange.ts";
import { createUpstreamPool } from "./upstream-pool.ts";

it("an error behind the end of a response is that of its reader, who would wait for the end for ever", async () => {
  const server = createServer((_request, response) => void response.end("text")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { scheduler } = systemRuntime;
  const dial = createDialer(
    { server: origin, credential: {} },
    { scheduler, addresses: createAddressRules(), resolve: undefined, connectTimeoutMs: 10_000 },
  );
  const pool = createUpstreamPool({ origin, dial, idleTimeoutMs: 1_000 });
  onTestFinished(() => {
    pool.close();
    server.close();
  });
  const failure = new TypeError("a fault of the platform");
  const answer = await new Promise<UpstreamAnswer>((resolve, reject) =>
    exchange(
      pool.take,
      "/",
      { method: "GET", path: "/", headers: [], signal: new AbortController().signal },
      {
        scheduler,
        limits: DEFAULT_UPSTREAM_LIMITS,
        echo: { isKnown: false },
        onUpgraded: reject,
        onClosed() {
          throw failure;
        },
        onAnswer: resolve,
        onFailure: reject,
      },
    ),
  );
  if (answer.type !== "response") return expect.unreachable();
  const read = async () => {
    for await (const bytes of answer.response) expect(bytes.toString()).toBe("text");
  };
  await expect(read()).rejects.toBe(failure);
});
