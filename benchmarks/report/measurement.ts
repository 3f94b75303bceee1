// Summarises the rounds of one scenario on one server.

import type { LoadReport } from "../load/order.ts";
import { median } from "./median.ts";

export type Round = {
  readonly report: LoadReport;
  /** Processor time of the server per request or event. */
  readonly cpuMicroseconds: number | undefined;
};

export type Summary = {
  readonly perSecond: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly cpuMicroseconds: number | undefined;
  readonly leastCpuMicroseconds: number | undefined;
  readonly p50: number;
  readonly p99: number;
  readonly failures: string;
};

/** Medians; undefined without rounds. */
export function summarize(rounds: readonly Round[]): Summary | undefined {
  if (rounds.length === 0) return undefined;
  const rates = rounds.map(({ report }) => report.count / report.seconds);
  const cpu = rounds.flatMap(({ cpuMicroseconds }) => cpuMicroseconds ?? []);
  return {
    perSecond: median(rates),
    slowest: Math.min(...rates),
    fastest: Math.max(...rates),
    cpuMicroseconds: cpu.length === 0 ? undefined : median(cpu),
    leastCpuMicroseconds: cpu.length === 0 ? undefined : Math.min(...cpu),
    p50: median(rounds.map(({ report }) => report.latencies.p50)),
    p99: median(rounds.map(({ report }) => report.latencies.p99)),
    failures: failuresOf(rounds),
  };
}

/** Such as `429: 12`; "" without failures. */
function failuresOf(rounds: readonly Round[]): string {
  const sums = new Map<string, number>();
  for (const { report } of rounds) {
    for (const [status, count] of Object.entries(report.failures)) sums.set(status, (sums.get(status) ?? 0) + count);
  }
  return [...sums].map(([status, count]) => `${status}: ${count}`).join(", ");
}
