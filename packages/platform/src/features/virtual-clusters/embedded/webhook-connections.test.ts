import { createServer, type Socket } from "node:net";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAddressRules } from "../../../foundation/upstream/address-rules.ts";
import { createWebhookConnections } from "./webhook-connections.ts";

/** A webhook that answers the first `answers` requests of each connection, and closes the connection when the next one arrives. */
async function closingWebhook(answers: number) {
  const bodies: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const received: string[] = [];
    bodies.push(received);
    sockets.add(socket);
    let text = "";
    socket.setEncoding("latin1").on("error", () => undefined);
    socket.on("data", (chunk) => {
      text += String(chunk);
      if (!text.endsWith("}")) return;
      received.push(text.slice(text.indexOf("\r\n\r\n") + 4));
      text = "";
      if (received.length > answers) socket.destroy();
      else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const webhooks = createWebhookConnections({
    scheduler: systemRuntime.scheduler,
    addresses: createAddressRules(),
    userAgent: "test",
  });
  onTestFinished(() => webhooks[Symbol.dispose]());
  const call = (body: string) =>
    webhooks.call({ origin: `http://127.0.0.1:${port}`, path: "/" }, body, {
      timeoutMs: 10_000,
      signal: new AbortController().signal,
    });
  return { bodies, call };
}

it("asks a webhook again that closes a kept connection instead of answering", async () => {
  const { bodies, call } = await closingWebhook(1);
  for (const body of ['{"a":1}', '{"a":2}', '{"a":3}']) expect(await call(body)).toBe("{}");
  expect(bodies).toEqual([['{"a":1}', '{"a":2}'], ['{"a":2}', '{"a":3}'], ['{"a":3}']]);
});

it("reports a webhook that closes a new connection instead of answering", async () => {
  const { bodies, call } = await closingWebhook(0);
  await expect(call('{"a":1}')).rejects.toThrow("the connection");
  expect(bodies).toHaveLength(1);
});

describe("webhook servers that do not answer", () => {
  const TIMEOUT = 10_000;
  async function listening(onConnection: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      onConnection(socket.on("error", () => undefined));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  }
  async function prepare(count: number) {
    const time = manualTime();
    const webhooks = createWebhookConnections({ ...time, addresses: createAddressRules(), userAgent: "test" });
    onTestFinished(() => webhooks[Symbol.dispose]());
    const silent = await Promise.all(Array.from({ length: count }, () => listening((socket) => socket.resume())));
    const good = await listening((socket) =>
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")),
    );
    const call = (origin: string): Promise<string> => {
      const signal = new AbortController().signal;
      return webhooks.call({ origin, path: "/" }, "{}", { timeoutMs: TIMEOUT, signal }).catch((error) => error.message);
    };
    /** Those that are in progress; the others are refused at once. */
    const flood = async (origins: readonly string[], each: number): Promise<Promise<string>[]> => {
      const calls = origins.flatMap((origin) => Array.from({ length: each }, () => call(origin)));
      const refused = new Set<Promise<string>>();
      for (const one of calls) void one.then(() => refused.add(one));
      await new Promise(setImmediate);
      return calls.filter((one) => !refused.has(one));
    };
    return { time, silent, good, call, flood };
  }

  it("leave calls for others, and one alone has most of them", async () => {
    const { silent, good, call, flood } = await prepare(3);
    const counts: number[] = [];
    for (const origin of silent) counts.push((await flood([origin], 100)).length);
    expect(counts).toEqual([67, 22, 8]);
    expect(await call(good)).toBe("{}");
    expect(await call(silent[0] ?? "")).toMatch(/^67 calls to the server are in progress/);
  });

  it.each([2, 40])("have few calls from then on, however many servers: %d", async (count) => {
    const { time, silent, good, call, flood } = await prepare(count);
    // Each was asked once at least, and has not answered.
    for (const origin of silent) {
      const asked = await flood([origin], 1);
      time.advance(TIMEOUT);
      expect(await Promise.all(asked)).toEqual(["context deadline exceeded"]);
    }
    const inProgress = await flood(silent, 10);
    expect(inProgress.length).toBe(Math.min(3 * count, 30));
    expect(await Promise.all(Array.from({ length: 40 }, () => call(good)))).toEqual(new Array(40).fill("{}"));
    time.advance(TIMEOUT);
    await Promise.all(inProgress);
  });

  it("are asked as before once they answer", async () => {
    const { time, good, call, flood } = await prepare(0);
    let isSilent = true;
    const origin = await listening((socket) =>
      socket.on("data", () => isSilent || socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")),
    );
    const first = call(origin);
    await new Promise(setImmediate);
    time.advance(TIMEOUT);
    await first;
    const inProgress = await flood([origin], 10);
    expect(inProgress.length).toBe(3);
    time.advance(TIMEOUT);
    await Promise.all(inProgress);
    isSilent = false;
    expect(await call(origin)).toBe("{}");
    expect(await Promise.all(Array.from({ length: 20 }, () => call(origin)))).toEqual(new Array(20).fill("{}"));
    expect(await call(good)).toBe("{}");
  });
});
