// Counters of the platform. Labels have few values, and never names.

import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";

type Registry = ServerMetrics["registry"];

/** Counts by the value of one label. */
export function labelledCounter<L extends string>(registry: Registry, name: string, help: string, label: L) {
  const made = createSeriesCounter({ name, help, labelNames: [label], registers: [registry] });
  const series = new Map<string, ReturnType<typeof made.series>>();
  return (value: string): void => {
    // The label is the only one: TypeScript cannot tell that the computed name is it.
    const known = series.get(value) ?? made.series({ [label]: value } as { readonly [name in L]: string });
    series.set(value, known);
    known.inc();
  };
}

export function totalCounter(registry: Registry, name: string, help: string): () => void {
  const total = createSeriesCounter({ name, help, labelNames: [], registers: [registry] }).series({});
  return () => total.inc();
}
