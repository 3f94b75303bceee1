// Metrics counted for every request. Finished requests are looked up by one string key, because this runs for each of them.

import { Counter, Gauge, type Registry } from "prom-client";
import type { RefusalReason } from "../limits/body-memory.ts";
import { NO_DRY_RUN, REQUEST_LABELS, type RequestLabels } from "./request-labels.ts";
import { type HistogramSeries, SeriesHistogram } from "./series-histogram.ts";

export type RequestCounters = {
  /** `bytes` is the size of the body, where it is known when the head goes out. */
  finished(labels: RequestLabels, code: number, seconds: number, bytes?: number): void;
  longRunning(labels: RequestLabels): Disposable;
  /** The client left before the response was complete. */
  aborted(labels: RequestLabels): void;
  /** Refused by the flow control. */
  rejected(labels: RequestLabels, reason: RefusalReason): void;
};

/** Beyond this many combinations of labels, further ones are counted together. */
const MAX_SERIES = 3_000;

const DURATION_BUCKETS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const SIZE_BUCKETS = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

export function createRequestCounters(registry: Registry): RequestCounters {
  const registers = [registry];
  const series = new RequestSeries(registers);
  const longRunning = new Gauge({
    name: "apiserver_longrunning_requests",
    help: "Open watches, proxied and upgraded connections",
    labelNames: NO_DRY_RUN,
    registers,
  });
  const aborted = new Counter({
    name: "apiserver_request_aborts_total",
    help: "Requests whose client disconnected before the response was complete",
    labelNames: ["group", "version", "resource", "subresource", "scope", "verb"],
    registers,
  });
  const terminated = new Counter({
    name: "apiserver_request_terminations_total",
    help: "Requests rejected by flow control",
    labelNames: [...NO_DRY_RUN, "code"],
    registers,
  });
  const reasons = new Counter({
    name: "apiserver_flowcontrol_rejected_requests_total",
    help: "Requests rejected by flow control, by reason",
    labelNames: ["reason"],
    registers,
  });

  return {
    finished(labels, code, seconds, bytes) {
      const found = series.of(labels, code);
      found.count += 1;
      if (seconds >= 0) found.duration.observe(seconds);
      if (bytes !== undefined) found.size.observe(bytes);
    },
    longRunning(labels) {
      const child = longRunning.labels(withoutDryRun(labels));
      child.inc();
      return { [Symbol.dispose]: () => child.dec() };
    },
    aborted({ group, version, resource, subresource, scope, verb }) {
      aborted.inc({ group, version, resource, subresource, scope, verb });
    },
    rejected(labels, reason) {
      terminated.inc({ ...withoutDryRun(labels), code: "429" });
      reasons.inc({ reason });
    },
  };
}

type Series = {
  readonly labels: RequestLabels & { readonly code: string };
  count: number;
  readonly duration: HistogramSeries;
  readonly size: HistogramSeries;
};

const OTHER = "other";

/** Metrics of requests by all of their labels and the code of the answer; bounded, since clients choose some of these. */
class RequestSeries {
  readonly #byKey = new Map<string, Series>();
  /** Requests of the same kind often come one after another. */
  #last: { readonly labels: RequestLabels; readonly code: number; readonly series: Series } | undefined;
  // Codes share these.
  readonly #durationOf: (key: string, labels: RequestLabels) => HistogramSeries;
  readonly #sizeOf: (key: string, labels: RequestLabels) => HistogramSeries;

  constructor(registers: Registry[]) {
    const byKey = this.#byKey;
    new Counter({
      name: "apiserver_request_total",
      help: "Requests answered",
      labelNames: [...REQUEST_LABELS, "code"],
      registers,
      collect() {
        this.reset();
        for (const { labels, count } of byKey.values()) this.inc(labels, count);
      },
    });
    const durations = new SeriesHistogram({
      name: "apiserver_request_duration_seconds",
      help: "Latency of requests that are not long-running, in seconds",
      labelNames: REQUEST_LABELS,
      buckets: DURATION_BUCKETS,
      registers,
    });
    const sizes = new SeriesHistogram({
      name: "apiserver_response_sizes",
      help: "Bytes of response bodies",
      labelNames: NO_DRY_RUN,
      buckets: SIZE_BUCKETS,
      registers,
    });
    this.#durationOf = oncePer((labels) => durations.series(labels));
    this.#sizeOf = oncePer((labels) => sizes.series(withoutDryRun(labels)));
  }

  of(labels: RequestLabels, code: number): Series {
    const last = this.#last;
    if (last !== undefined && last.code === code && areSame(last.labels, labels)) return last.series;
    const series = this.#of(labels, code);
    this.#last = { labels, code, series };
    return series;
  }

  #of(labels: RequestLabels, code: number): Series {
    const { verb, dry_run, group, version, resource, subresource, scope } = labels;
    const where = `${group} ${version} ${resource} ${subresource} ${scope}`;
    const key = `${code} ${verb} ${dry_run} ${where}`;
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    // An entry for the overflow itself must fit as well.
    if (this.#byKey.size >= MAX_SERIES && resource !== OTHER) return this.#of(inOther(labels), code);
    const series = {
      labels: { ...labels, code: String(code) },
      count: 0,
      duration: this.#durationOf(`${verb} ${dry_run} ${where}`, labels),
      size: this.#sizeOf(`${verb} ${where}`, labels),
    };
    this.#byKey.set(key, series);
    return series;
  }
}

function areSame(one: RequestLabels, other: RequestLabels): boolean {
  for (const label of REQUEST_LABELS) if (one[label] !== other[label]) return false;
  return true;
}

/** The value of a key, made from the labels it is first asked for with. */
function oncePer<T>(make: (labels: RequestLabels) => T): (key: string, labels: RequestLabels) => T {
  const made = new Map<string, T>();
  return (key, labels) => {
    const value = made.get(key) ?? make(labels);
    made.set(key, value);
    return value;
  };
}

const inOther = (labels: RequestLabels): RequestLabels => ({
  ...labels,
  group: "",
  version: "",
  resource: OTHER,
  subresource: "",
});

const withoutDryRun = ({ dry_run: _, ...labels }: RequestLabels): Omit<RequestLabels, "dry_run"> => labels;
