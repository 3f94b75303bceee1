import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import type { Handler } from "../context/request-context.ts";
import type { SpanAttributes, SpanStart, Tracing } from "../tracing/tracing.ts";
import { jsonResponse } from "../transport/api-response.ts";
import { streamResponse } from "../transport/testing/serve-handler.ts";
import { http1 } from "../transport/testing/test-clients.ts";
import { as, PODS, serveChain } from "./testing/serve-chain.ts";
import { withTracing } from "./with-tracing.ts";

type Noted = SpanStart & { failure?: string; more: SpanAttributes; isOver: boolean };

const spans: Noted[] = [];
const tracing: Tracing = {
  start(options) {
    const noted: Noted = { ...options, more: {}, isOver: false };
    spans.push(noted);
    return {
      within: (work) => work(),
      set: (attributes) => void Object.assign(noted.more, attributes),
      fail(type) {
        noted.failure = type;
      },
      end() {
        noted.isOver = true;
      },
    };
  },
  isActive: () => true,
  headers: () => ({}),
};
afterEach(() => {
  spans.length = 0;
});

const fine: Handler = async () => jsonResponse(200, "{}");

it("is absent without a trace collector", () => {
  expect(withTracing({})).toEqual({});
});

describe("the span of a request", () => {
  it("has those of its authentication and of its decision beside it, and ends", async () => {
    const { port } = await serveChain(fine, { tracing });
    await http1({ port, path: `${PODS}/x?fieldManager=a`, headers: as("admin") });
    expect(spans.map(({ name, kind, isOver }) => [name, kind, isOver])).toEqual([
      ["get pods", "server", true],
      ["authenticate", "internal", true],
      ["authorize", "internal", true],
    ]);
    expect(spans[0]?.attributes).toMatchObject({ "url.path": `${PODS}/x`, "k8s.namespace.name": "default" });
    expect(JSON.stringify(spans[0])).not.toContain("fieldManager");
    expect(spans[0]?.more).toEqual({ "http.response.status_code": 200 });
  });

  it("lasts until a stream ends", async () => {
    let isOverInside: boolean | undefined;
    const stream: Handler = async () =>
      streamResponse(async (sink) => {
        isOverInside = spans[0]?.isOver;
        await sink.write(Buffer.from("a"));
      });
    const { port } = await serveChain(stream, { tracing });
    await http1({ port, path: PODS, headers: as("admin") });
    expect([isOverInside, spans[0]?.isOver]).toEqual([false, true]);
  });

  it("reports that a request failed, without the reason", async () => {
    const { port } = await serveChain(() => Promise.reject(new Error("inner detail")), { tracing });
    await http1({ port, path: PODS, headers: as("admin") });
    expect(spans[0]).toMatchObject({ failure: "500", isOver: true });
    expect(JSON.stringify(spans)).not.toContain("inner detail");
  });

  it("is named after a resource only where there is one", async () => {
    const { port } = await serveChain(fine, { tracing, isServed: () => false });
    await http1({ port, path: "/apis/made.up/v1/things", headers: as("admin") });
    expect(spans[0]?.name).toBe("GET");
    expect(JSON.stringify(spans[0])).not.toContain("k8s.resource");
  });

  it("belongs to the trace of the caller, unless credentials are in the headers", async () => {
    const chosen = randomBytes(16).toString("hex");
    const { port } = await serveChain(fine, {
      tracing,
      chosenCredentials: { isCredential: (text) => text === chosen, isAny: () => true },
    });
    const [trace, span] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")];
    const parentWith = async (headers: Record<string, string>) => {
      spans.length = 0;
      await http1({ port, path: PODS, headers: { ...as("admin"), ...headers } });
      return spans[0]?.parent;
    };
    const traceparent = `00-${trace}-${span}-01`;
    expect(await parentWith({ traceparent, tracestate: "a=1" })).toEqual({ traceparent, tracestate: "a=1" });
    expect(await parentWith({ traceparent, tracestate: `a=${chosen}` })).toEqual({ traceparent });
    expect(await parentWith({ traceparent: `00-${chosen}-${span}-01` })).toEqual({});
    expect(await parentWith({ tracestate: "a=1" })).toEqual({});
  });
});
