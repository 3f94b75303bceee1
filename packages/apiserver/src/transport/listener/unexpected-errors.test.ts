// Errors thrown in every stage of every kind of response: each ends its own exchange, is reported once, and the server lives on.

import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createFaults } from "../../logging/faults.ts";
import { type LogFields, silentLogger } from "../../logging/logger.ts";
import { systemRuntime } from "../../runtime/system-runtime.ts";
import type { ApiRequest } from "../api-request.ts";
import { type ApiResponse, PeerFault, StreamFault, textResponse } from "../api-response.ts";
import type { ApiHandler } from "../exchange/serve-exchange.ts";
import { serverCertificate } from "../testing/serve-handler.ts";
import { http1, http2, openHttp2, openTls } from "../testing/test-clients.ts";
import { createHttpTransport } from "./http-transport.ts";

const uncaught: unknown[] = [];
const noteUncaught = (error: unknown): void => void uncaught.push(error);
beforeEach(() => {
  uncaught.length = 0;
  process.prependListener("uncaughtException", noteUncaught).prependListener("unhandledRejection", noteUncaught);
});
afterEach(async () => {
  await nextTurn();
  process.off("uncaughtException", noteUncaught).off("unhandledRejection", noteUncaught);
  expect(uncaught).toEqual([]);
});

const boom = (): never => {
  throw new TypeError("boom");
};
const headers = { "content-type": "application/json", "audit-id": "the-id" };
const stream = (run: Extract<ApiResponse["body"], { type: "stream" }>["run"]): ApiResponse => ({
  status: 200,
  headers,
  body: { type: "stream", run },
});

/** Serves `failing` at `/fail`, and answers all other requests. */
async function serve(failing: ApiHandler) {
  const logged: LogFields[] = [];
  const counted: string[] = [];
  const logger = { ...silentLogger, error: (fields: LogFields) => void logged.push(fields) };
  const transport = createHttpTransport({
    ...systemRuntime,
    tls: serverCertificate,
    bindAddress: "127.0.0.1",
    port: 0,
    logger,
    faults: createFaults({ logger, onFault: (component) => void counted.push(component) }),
    handler: (request) => (request.path.startsWith("/fail") ? failing(request) : textResponse(200, "alive")),
  });
  const { port } = await transport.listen();
  onTestFinished(() => transport.close({ drainMs: 0 }));
  return { port, logged, counted };
}

/** Stages of a response, each with what fails in it, and whether the client gets an answer. */
const STAGES: readonly [stage: string, handler: ApiHandler, component: string][] = [
  ["a handler that throws", boom, "request-handler"],
  ["a handler that rejects", async () => boom(), "request-handler"],
  ["a stream that throws at once", () => stream(boom), "response"],
  ["a stream that rejects before its first byte", () => stream(async () => boom()), "response"],
  [
    "a list that fails between two slices",
    () =>
      stream(async (sink) => {
        await sink.write('{"items":[');
        await nextTurn();
        boom();
      }),
    "response",
  ],
  [
    "a body that fails behind a full buffer",
    () =>
      stream(async (sink) => {
        await sink.write(Buffer.alloc(1 << 20));
        boom();
      }),
    "response",
  ],
  [
    "a watch that fails",
    () =>
      stream(async (sink) => {
        await sink.write("{}\n");
        throw new StreamFault("the watch failed", { cause: new TypeError("boom") });
      }),
    "stream",
  ],
  [
    "a header that cannot be sent",
    async () => ({ ...textResponse(200, "x"), headers: { "x-bad": "a\nb", "audit-id": "the-id" } }),
    "response",
  ],
  [
    "a header that cannot be sent, of an answer at once",
    () => ({ ...textResponse(200, "x"), headers: { "x-bad": "a\nb", "audit-id": "the-id" } }),
    "response",
  ],
  ["a chunk that is none", () => stream(async (sink) => void (await sink.write(7 as unknown as string))), "response"],
];

it("a stream that is cut because of its client is no error", async () => {
  const { port, logged, counted } = await serve(() =>
    stream(async (sink) => {
      await sink.write("{}\n");
      throw new PeerFault("it stopped reading");
    }),
  );
  await http1({ port, path: "/fail" }).catch(() => undefined);
  const session = await openHttp2(port);
  await http2(session, { ":path": "/fail" }).catch(() => undefined);
  session.destroy();
  expect(await http1({ port, path: "/" })).toMatchObject({ body: "alive" });
  expect([logged, counted]).toEqual([[], []]);
});

describe.each(STAGES)("%s", (stage, handler, component) => {
  it("ends its HTTP/1.1 exchange, is reported once, and others are served", async () => {
    const { port, logged, counted } = await serve(handler);
    await http1({ port, path: "/fail" }).catch(() => undefined);
    await expect.poll(() => counted).toEqual([component]);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({ method: "GET", uri: "/fail" });
    if (component !== "request-handler") expect(logged[0]?.auditId).toBe("the-id");
    expect((await http1({ port, path: "/" })).body).toBe("alive");
  });

  // HTTP/2 frames have no line breaks to protect.
  it.skipIf(stage.startsWith("a header"))(
    "ends its HTTP/2 stream, is reported once, and other streams of the connection go on",
    async () => {
      const { port, counted } = await serve(handler);
      const session = openHttp2(port);
      onTestFinished(() => session.destroy());
      await http2(session, { ":path": "/fail" }).catch(() => undefined);
      await expect.poll(() => counted).toEqual([component]);
      expect((await http2(session, { ":path": "/" })).body).toBe("alive");
    },
  );
});

it("a watch that fails is whole for its client", async () => {
  const { port } = await serve(() => stream(() => Promise.reject(new StreamFault("x", { cause: new Error("boom") }))));
  expect(await http1({ port, path: "/fail" })).toMatchObject({ status: 200, body: "" });
});

it.each([
  [
    "throws once it has the socket",
    (request: ApiRequest) => {
      request.upgrade?.accept();
      return boom();
    },
  ],
  [
    "rejects later",
    (request: ApiRequest) => {
      request.upgrade?.accept();
      return {
        status: 101,
        headers: {},
        body: { type: "upgraded", done: Promise.resolve().then(boom) },
      } as ApiResponse;
    },
  ],
  ["never takes the socket", boom],
])("an upgrade that %s ends its connection", async (_, handler) => {
  const { port } = await serve(handler as ApiHandler);
  const socket = await openTls(port);
  socket.on("error", () => undefined).resume();
  socket.write("GET /fail HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  if (_ !== "throws once it has the socket") await once(socket, "close");
  socket.destroy();
  expect((await http1({ port, path: "/" })).body).toBe("alive");
});

it.each<[string, (signal: AbortSignal) => unknown, string[]]>([
  ["a defect", () => boom(), ["response"]],
  [
    "the reason of its abort",
    (signal) => {
      throw signal.reason;
    },
    [],
  ],
])("work that ends with %s behind its client", async (_, end, expected) => {
  let note = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    note = resolve;
  });
  const { port, counted } = await serve((request) =>
    stream(async (sink) => {
      await sink.write("x");
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      note();
      end(request.signal);
    }),
  );
  const session = openHttp2(port);
  const opened = session.request({ ":path": "/fail" });
  await once(opened, "response");
  session.destroy();
  await ended;
  expect((await http1({ port, path: "/" })).body).toBe("alive");
  expect(counted).toEqual(expected);
});
