// A counter whose series are looked up once, which prom-client reads at a scrape: its own counter hashes all labels at each increment.

import { Counter, type CounterConfiguration } from "prom-client";

export type CounterSeries = { inc(count?: number): void };

/** `series` gives the counter of a combination of labels, to be kept by the caller: each call makes one of its own. */
export function createSeriesCounter<L extends string>({
  fromZero = false,
  ...configuration
}: Omit<CounterConfiguration<L>, "collect"> & {
  /** Shows series that have counted nothing yet, so that their first count is an increase. Default: it leaves them out. */
  readonly fromZero?: boolean;
}): { series(labels: { readonly [label in L]: string }): CounterSeries } {
  const all: { readonly labels: { readonly [label in L]: string }; count: number }[] = [];
  new Counter<L>({
    ...configuration,
    collect() {
      this.reset();
      for (const { labels, count } of all) if (fromZero || count > 0) this.inc(labels, count);
    },
  });
  return {
    series(labels) {
      const series = { labels, count: 0 };
      all.push(series);
      return {
        inc(count = 1) {
          series.count += count;
        },
      };
    },
  };
}
