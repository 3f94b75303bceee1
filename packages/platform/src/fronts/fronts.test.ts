import { readFile } from "node:fs/promises";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import { mergeMetrics, metricValuesOf } from "@postern/apiserver/metrics/merge-metrics";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { describe, expect, it } from "vitest";
import { connectionShare, partOf, rateShare } from "../foundation/config/thread-share.ts";
import { frontCount } from "./front-count.ts";
import { createFrontShare, setFronts, threadShareOf } from "./front-share.ts";
import { GAUGES, lastingMetrics, OF_FIRST, sharedMetrics, sumMetrics } from "./sum-metrics.ts";

describe("the number of threads", () => {
  const sqlite = { kind: "sqlite", path: "/store.db" } as const;
  const linux = (nodeVersion: string, processors = 2) => ({ platform: "linux", nodeVersion, processors });
  const asked = { threads: undefined, maxThreads: undefined, store: sqlite };

  it("is refused where threads cannot share a port, or the store", () => {
    for (const [two, flag] of [
      [{ ...asked, threads: 2 }, "--threads"],
      [{ ...asked, maxThreads: 2 }, "--max-threads"],
    ] as const) {
      const refused = new RegExp(`^${flag} 2 needs Linux with Node 23\\.1`);
      for (const version of ["20.20.2", "23.0.9"]) expect(() => frontCount(two, linux(version))).toThrow(refused);
      expect(() => frontCount(two, { ...linux("24.1.0"), platform: "darwin" })).toThrow(refused);
      expect(() => frontCount({ ...two, store: { kind: "memory" } }, linux("24.1.0"))).toThrow(
        /needs a store that threads can share/,
      );
      for (const version of ["23.1.0", "24.0.0", "26.10.0"]) expect(frontCount(two, linux(version)).most).toBe(2);
    }
    const one = { ...asked, threads: 1, store: { kind: "memory" } } as const;
    expect(frontCount(one, linux("20.19.0"))).toEqual({ first: 1, most: 1 });
  });

  it("grows by default to as many as there are processors, and to four", () => {
    const most = (nodeVersion: string, processors: number, store: typeof sqlite | { kind: "memory" } = sqlite) =>
      frontCount({ ...asked, store }, linux(nodeVersion, processors)).most;
    expect([1, 2, 3, 4, 8].map((processors) => most("24.1.0", processors))).toEqual([1, 2, 3, 4, 4]);
    expect([most("22.9.0", 8), most("24.1.0", 8, { kind: "memory" })]).toEqual([1, 1]);
  });

  it("is fixed with --threads", () => {
    expect(frontCount({ ...asked, threads: 3, maxThreads: 5 }, linux("24.1.0"))).toEqual({ first: 3, most: 3 });
    expect(frontCount({ ...asked, threads: 1 }, linux("24.1.0", 8))).toEqual({ first: 1, most: 1 });
  });
});

describe("the share of a front", () => {
  it("is of each limit, at least 1, and none of none, and follows the number of fronts", () => {
    const cell = createFrontShare(1);
    const share = threadShareOf(cell);
    const rate = rateShare({ qps: 1, burst: 5 }, share);
    const read = () => [partOf(400, share), partOf(0, share), partOf(1, share), rate.qps, rate.burst];
    expect([...read(), connectionShare(share)]).toEqual([400, 0, 1, 1, 5, 1]);
    setFronts(cell, 3);
    expect([...read(), connectionShare(share)]).toEqual([134, 0, 1, 1 / 3, 2, 0.5]);
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
