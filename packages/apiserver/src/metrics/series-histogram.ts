// A histogram whose series are looked up once: prom-client hashes all labels at each observation.

import { Histogram, type HistogramConfiguration } from "prom-client";

export type HistogramSeries = { observe(value: number): void };

/** Observed through `series` alone. */
export class SeriesHistogram<L extends string> extends Histogram<L> {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series: Series[] = [];

  /** `buckets` are upper bounds, the smallest first. */
  constructor(configuration: HistogramConfiguration<L> & { readonly buckets: readonly number[] }) {
    super({ ...configuration, buckets: [...configuration.buckets] });
    this.#name = configuration.name;
    this.#help = configuration.help;
    this.#bounds = configuration.buckets;
  }

  /** To be kept: each call makes a series of its own. */
  series(labels: { readonly [label in L]?: string }): HistogramSeries {
    const series = new Series(labels, this.#bounds);
    this.#series.push(series);
    return series;
  }

  /** Read by the registry, and the source of `get`. */
  async getForPromString() {
    const values = this.#series.filter(({ count }) => count > 0).flatMap((series) => series.values(this.#name));
    return { name: this.#name, help: this.#help, type: "histogram", aggregator: "sum", values };
  }
}

class Series implements HistogramSeries {
  readonly #labels: { readonly [label: string]: string | undefined };
  readonly #bounds: readonly number[];
  /** How many values lie in each bucket and in none of those before it. */
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(labels: { readonly [label: string]: string | undefined }, bounds: readonly number[]) {
    this.#labels = labels;
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  get count(): number {
    return this.#count;
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count += 1;
    for (let at = 0; at < this.#bounds.length; at++) {
      if (value > (this.#bounds[at] ?? 0)) continue;
      this.#counts[at] = (this.#counts[at] ?? 0) + 1;
      return;
    }
  }

  values(name: string) {
    let below = 0;
    const buckets = this.#bounds.map((bound, at) => {
      below += this.#counts[at] ?? 0;
      return { labels: { le: bound, ...this.#labels }, value: below, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels: { le: "+Inf", ...this.#labels }, value: this.#count, metricName: `${name}_bucket` },
      { labels: this.#labels, value: this.#sum, metricName: `${name}_sum` },
      { labels: this.#labels, value: this.#count, metricName: `${name}_count` },
    ];
  }
}
