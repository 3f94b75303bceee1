// Merges the metrics of several registries into the text of one.

import { Registry } from "prom-client";

/** A metric with the values of all its series. `metricName` differs from the name for parts of a histogram. */
export type MetricValues = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly {
    readonly labels: { readonly [label: string]: string | number };
    readonly value: number;
    readonly metricName?: string | undefined;
  }[];
};

/** Plain data, which can be sent to another thread. */
export async function metricValuesOf(registry: Registry): Promise<readonly MetricValues[]> {
  const values: MetricValues[] = [];
  for (const metric of registry.getMetricsAsArray()) {
    // The text is made of this: some metrics have no other way.
    const { getForPromString, get } = metric as unknown as { readonly [method: string]: () => Promise<MetricValues> };
    const { name, help, type, values: found } = await (getForPromString ?? get ?? none).call(metric);
    values.push({
      name,
      help,
      type,
      values: found.map(({ labels, value, metricName }) => ({ labels: { ...labels }, value, metricName })),
    });
  }
  return values;
}

const none = (): Promise<MetricValues> => Promise.reject(new Error("a metric without values"));

type WayOf = (metric: MetricValues) => "sum" | "max";

/** Series of equal labels become one, in the way of their metric. Those of the first registry that has them come first. */
export function mergeValues(all: readonly (readonly MetricValues[])[], wayOf: WayOf): readonly MetricValues[] {
  type Series = { value: number } & Omit<MetricValues["values"][number], "value">;
  const merged = new Map<string, Omit<MetricValues, "values"> & { readonly series: Map<string, Series> }>();
  for (const metrics of all) {
    for (const metric of metrics) {
      const { name, help, type, values } = metric;
      const way = wayOf(metric);
      const known = merged.get(name) ?? { name, help, type, series: new Map<string, Series>() };
      merged.set(name, known);
      for (const { labels, value, metricName } of values) {
        const key = JSON.stringify([metricName ?? name, ...Object.entries(labels).sort(byName)]);
        const series = known.series.get(key);
        if (series === undefined) known.series.set(key, { labels, value, metricName });
        else series.value = way === "sum" ? series.value + value : Math.max(series.value, value);
      }
    }
  }
  return [...merged.values()].map(({ series, ...metric }) => ({ ...metric, values: [...series.values()] }));
}

/** The same as text. */
export async function mergeMetrics(all: readonly (readonly MetricValues[])[], wayOf: WayOf): Promise<string> {
  const registry = new Registry();
  for (const merged of mergeValues(all, wayOf)) {
    const metric = { ...merged, aggregator: "sum" };
    // A registry asks its metrics for no more than this.
    registry.registerMetric({ name: metric.name, get: async () => metric } as unknown as Parameters<
      Registry["registerMetric"]
    >[0]);
  }
  return await registry.metrics();
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : one > other ? 1 : 0;
