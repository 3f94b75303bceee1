import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { createSeriesCounter } from "./counter-series.ts";

it.each([
  [true, ['ends_total{reason="stalled"} 0', 'ends_total{reason="crashed"} 2']],
  [false, ['ends_total{reason="crashed"} 2']],
])("shows series that have counted nothing where they begin at zero (%s)", async (fromZero, lines) => {
  const registry = new Registry();
  const counter = createSeriesCounter({
    name: "ends_total",
    help: "ends",
    labelNames: ["reason"],
    registers: [registry],
    fromZero,
  });
  counter.series({ reason: "stalled" });
  const crashed = counter.series({ reason: "crashed" });
  crashed.inc();
  crashed.inc();
  const text = await registry.metrics();
  expect(text.split("\n").filter((line) => line.startsWith("ends_total"))).toEqual(lines);
});
