// Shared by the benchmarks of the stores: counting, latencies, and the table with the machine's noise.

import { performance } from "node:perf_hooks";
import { median } from "./report/median.ts";

export type Measurement = {
  readonly work: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
};

export function measured(work: string, startedAt: number, latencies: number[]): Measurement {
  const seconds = (performance.now() - startedAt) / 1_000;
  const sorted = latencies.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { work, perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
}

/** `inFlight` concurrent calls for this many seconds. */
export async function measure(
  work: string,
  inFlight: number,
  seconds: number,
  write: (index: number) => Promise<unknown>,
): Promise<Measurement> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  let index = 0;
  const worker = async () => {
    while (performance.now() - startedAt < seconds * 1_000) {
      const before = performance.now();
      await write(index++);
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return measured(`${work}, ${inFlight} in flight`, startedAt, latencies);
}

/** Prints medians over the rounds; `× ceiling` is relative to the first line of each round. */
export function printRounds(rounds: readonly (readonly Measurement[])[]): void {
  const ceiling = median(rounds.map(([first]) => first?.perSecond ?? 0));
  const rows = (rounds[0] ?? []).map(({ work }, index) => {
    const all = rounds.flatMap((round) => round[index] ?? []);
    const rates = all.map(({ perSecond }) => perSecond);
    const ms = (pick: (measurement: Measurement) => number) => median(all.map(pick)).toFixed(2);
    return {
      work,
      "per second": Math.round(median(rates)),
      "× ceiling": (median(rates) / ceiling).toFixed(2),
      spread: `${Math.round(Math.min(...rates))}-${Math.round(Math.max(...rates))}`,
      "p50 ms": ms(({ p50 }) => p50),
      "p99 ms": ms(({ p99 }) => p99),
      "p99.9 ms": ms(({ p999 }) => p999),
      "max ms": ms(({ max }) => max),
    };
  });
  console.table(rows);
}
