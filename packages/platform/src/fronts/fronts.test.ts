import { readFile } from "node:fs/promises";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import { mergeMetrics, metricValuesOf } from "@postern/apiserver/metrics/merge-metrics";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { describe, expect, it } from "vitest";
import { defaultConfiguration } from "../foundation/config/configuration.ts";
import { assertThreadsAreServed } from "./can-share-port.ts";
import { shareOf } from "./front-share.ts";
import { GAUGES, lastingMetrics, OF_FIRST, sharedMetrics, sumMetrics } from "./sum-metrics.ts";

describe("--threads", () => {
  const sqlite = { kind: "sqlite", path: "/store.db" } as const;
  const linux = (nodeVersion: string) => ({ platform: "linux", nodeVersion });

  it("is refused where threads cannot share a port, or the store", () => {
    const refused = /^--threads 2 needs Linux with Node 23\.1/;
    const two = { threads: 2, store: sqlite };
    expect(() => assertThreadsAreServed(two, linux("20.20.2"))).toThrow(refused);
    expect(() => assertThreadsAreServed(two, linux("23.0.9"))).toThrow(refused);
    expect(() => assertThreadsAreServed(two, { platform: "darwin", nodeVersion: "24.1.0" })).toThrow(refused);
    expect(() => assertThreadsAreServed({ threads: 2, store: { kind: "memory" } }, linux("24.1.0"))).toThrow(
      /needs a store that threads can share/,
    );
    for (const version of ["23.1.0", "24.0.0", "26.10.0"]) assertThreadsAreServed(two, linux(version));
    assertThreadsAreServed({ threads: 1, store: { kind: "memory" } }, linux("20.19.0"));
  });
});

describe("the share of a front", () => {
  const whole = defaultConfiguration("/");
  const limited = {
    ...whole,
    threads: 3,
    maxRequestsInflight: 400,
    maxMutatingRequestsInflight: 0,
    rateLimits: {
      ...whole.rateLimits,
      keyQPS: 1,
      keyBurst: 0,
      sourceQPS: 30,
      sourceBurst: 60,
      failedLoginsPerMinute: 2,
    },
  };

  it("is of each limit, at least 1, and none of none", () => {
    const { maxRequestsInflight, maxMutatingRequestsInflight, rateLimits, connections } = shareOf(limited);
    expect({ maxRequestsInflight, maxMutatingRequestsInflight }).toEqual({
      maxRequestsInflight: 134,
      maxMutatingRequestsInflight: 0,
    });
    expect(rateLimits).toEqual({
      ...whole.rateLimits,
      keyQPS: 1 / 3,
      keyBurst: 1,
      sourceQPS: 10,
      sourceBurst: 20,
      failedLoginsPerMinute: 1,
    });
    expect(connections.max).toBe(whole.connections.max / 2);
  });

  it("is everything where there is one", () => {
    expect(shareOf({ ...limited, threads: 1 })).toEqual({ ...limited, threads: 1 });
  });
});

describe("the metrics of all fronts", () => {
  async function metricsOf(requests: number, inflight: number, keys: number) {
    const metrics = createServerMetrics();
    for (let count = 0; count < requests; count++) metrics.tlsHandshakeError();
    metrics.connectionDropped("idle");
    const gauge = (name: string, value: number) =>
      new Gauge({ name, help: name, registers: [metrics.registry] }).set(value);
    gauge("postern_tunnels", inflight);
    gauge("postern_access_keys", keys);
    gauge("postern_tunnel_clusters", inflight);
    new Gauge({
      name: "postern_thread_clusters",
      help: "t",
      labelNames: ["thread"],
      registers: [metrics.registry],
    }).set({ thread: "shared-1" }, inflight);
    return { text: await metrics.registry.metrics(), values: await metricValuesOf(metrics.registry) };
  }
  const linesOf = (text: string, part: string) =>
    text.split("\n").filter((line) => line.includes(part) && !line.startsWith("#"));

  it("of one are what it says itself", async () => {
    const { text, values } = await metricsOf(3, 2, 7);
    expect(await mergeMetrics([values], () => "sum")).toBe(text);
  });

  it("are sums of counts, sums, maxima or the first one's of gauges, and each thread by itself", async () => {
    const [first, second] = [await metricsOf(3, 2, 7), await metricsOf(5, 4, 9)];
    const sum = await sumMetrics([first.values, sharedMetrics(second.values, 1)]);
    expect(linesOf(sum, "handshake_errors")).toEqual(["apiserver_tls_handshake_errors_total 8"]);
    expect(linesOf(sum, "connections_dropped")).toEqual(['apiserver_connections_dropped_total{reason="idle"} 2']);
    expect(linesOf(sum, "postern_tunnels")).toEqual(["postern_tunnels 6"]);
    expect(linesOf(sum, "postern_tunnel_clusters")).toEqual(["postern_tunnel_clusters 4"]);
    expect(linesOf(sum, "postern_access_keys")).toEqual(["postern_access_keys 7"]);
    expect(linesOf(sum, "postern_thread_clusters")).toEqual([
      'postern_thread_clusters{thread="shared-1"} 2',
      'postern_thread_clusters{thread="front-1-shared-1"} 4',
    ]);
  });

  it("keep the counts of one that has ended, and not its gauges", async () => {
    const { values } = await metricsOf(5, 4, 9);
    const once = lastingMetrics([], sharedMetrics(values, 1));
    const text = await sumMetrics([lastingMetrics(once, sharedMetrics(values, 2))]);
    expect(linesOf(text, "handshake_errors")).toEqual(["apiserver_tls_handshake_errors_total 10"]);
    expect(text).not.toContain("gauge");
  });

  it("say of every gauge of the server how it follows from those of the fronts", async () => {
    const page = await readFile(new URL("../../../../docs/reference/metrics.md", import.meta.url), "utf8");
    const gauges = [...page.matchAll(/^\| `(\w+)`[^|]*\| gauge/gm)].map(([, name = ""]) => name);
    expect(gauges.length).toBeGreaterThan(20);
    const own = gauges.filter((name) => !name.startsWith("process_") && !name.startsWith("nodejs_"));
    expect([...Object.keys(GAUGES), ...OF_FIRST].sort()).toEqual(own.sort());
  });
});
