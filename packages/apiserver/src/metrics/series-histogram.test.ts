import { Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { createSeriesCounter } from "./counter-series.ts";
import { SeriesHistogram } from "./series-histogram.ts";

const HISTOGRAM = { name: "h", help: "a histogram", labelNames: ["a", "b"] as const, buckets: [0.1, 1, 5] };
const VALUES = [0, 0.1, 0.10001, 3, 5, 5.5, 100];

it("is written as prom-client writes its own histogram", async () => {
  const [own, theirs] = [new Registry(), new Registry()];
  const ours = new SeriesHistogram({ ...HISTOGRAM, registers: [own] });
  const reference = new Histogram({ ...HISTOGRAM, registers: [theirs] });
  for (const labels of [{ a: "1", b: "2" }, { a: 'x"y' }]) {
    const series = ours.series(labels);
    for (const value of VALUES) {
      series.observe(value);
      reference.observe(labels, value);
    }
  }
  ours.series({ a: "never observed" });
  expect(await own.metrics()).toBe(await theirs.metrics());
});

it("counts by labels, and shows no series before it is counted", async () => {
  const registry = new Registry();
  const counter = createSeriesCounter({ name: "c", help: "a counter", labelNames: ["a"], registers: [registry] });
  const [one, two] = [counter.series({ a: "1" }), counter.series({ a: "2" })];
  counter.series({ a: "3" });
  one.inc();
  two.inc(4);
  two.inc();
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("c"));
  expect(lines).toEqual(['c{a="1"} 1', 'c{a="2"} 5']);
});
