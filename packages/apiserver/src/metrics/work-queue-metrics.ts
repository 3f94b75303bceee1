// Metrics of work queues, with the names of Kubernetes.
// Source: k8s.io/component-base/metrics/prometheus/workqueue/metrics.go, k8s.io/client-go/util/workqueue/metrics.go

import { Counter, Gauge, type Registry } from "prom-client";
import { type HistogramSeries, SeriesHistogram } from "./series-histogram.ts";

export type WorkQueueState = {
  /** How many keys wait their turn. */
  readonly depth: number;
  /** Seconds since the start of each key that is being processed. */
  readonly running: readonly number[];
};

export type QueueMetrics = Disposable & {
  added(): void;
  /** A key was put back, to be worked on after a delay. */
  retried(): void;
  /** For how many seconds a key waited its turn. */
  waited(seconds: number): void;
  /** How many seconds the work of a key took. */
  worked(seconds: number): void;
};

export type WorkQueueMetrics = {
  /** `state` is called on each scrape, until the result is disposed. Queues with the same name are counted together. */
  follow(name: string, state: () => WorkQueueState): QueueMetrics;
};

type Totals = {
  added: number;
  retried: number;
  readonly waits: HistogramSeries;
  readonly work: HistogramSeries;
  readonly states: Set<() => WorkQueueState>;
};

const BUCKETS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000];

export function createWorkQueueMetrics(registry: Registry): WorkQueueMetrics {
  const registers = [registry];
  const labelNames = ["name"] as const;
  const totalsOf = new Map<string, Totals>();

  const counter = (name: string, help: string, read: (totals: Totals) => number): void => {
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [queue, totals] of totalsOf) this.inc({ name: queue }, read(totals));
      },
    });
  };
  const gauge = (name: string, help: string, read: (states: readonly WorkQueueState[]) => number): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [queue, { states }] of totalsOf) {
          this.set({ name: queue }, read([...states].map((state) => state())));
        }
      },
    });
  };
  const histogram = (name: string, help: string) =>
    new SeriesHistogram({ name, help, labelNames, buckets: BUCKETS, registers });

  const runningOf = (states: readonly WorkQueueState[]): readonly number[] => states.flatMap(({ running }) => running);
  gauge("workqueue_depth", "Keys that wait to be processed", (states) =>
    states.reduce((sum, { depth }) => sum + depth, 0),
  );
  gauge("workqueue_unfinished_work_seconds", "Seconds of processing that is still in progress", (states) =>
    runningOf(states).reduce((sum, seconds) => sum + seconds, 0),
  );
  gauge("workqueue_longest_running_processor_seconds", "Seconds of the longest processing in progress", (states) =>
    Math.max(0, ...runningOf(states)),
  );
  counter("workqueue_adds_total", "Keys that were added", ({ added }) => added);
  counter(
    "workqueue_retries_total",
    "Keys that were queued again, to be retried after a delay",
    ({ retried }) => retried,
  );
  const waits = histogram("workqueue_queue_duration_seconds", "How long keys waited to be processed");
  const work = histogram("workqueue_work_duration_seconds", "How long processing took");

  function totalsFor(name: string): Totals {
    const known = totalsOf.get(name);
    if (known !== undefined) return known;
    const series = { waits: waits.series({ name }), work: work.series({ name }) };
    const totals = { added: 0, retried: 0, ...series, states: new Set<() => WorkQueueState>() };
    totalsOf.set(name, totals);
    return totals;
  }

  return {
    follow(name, state) {
      const totals = totalsFor(name);
      totals.states.add(state);
      return {
        added: () => void totals.added++,
        retried: () => void totals.retried++,
        waited: (seconds) => totals.waits.observe(seconds),
        worked: (seconds) => totals.work.observe(seconds),
        [Symbol.dispose]: () => void totals.states.delete(state),
      };
    },
  };
}
