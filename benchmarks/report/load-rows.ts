// The rows of the main table: one scenario, with its ceiling and a peer's figures.

import type { Summary } from "./measurement.ts";
import type { Row } from "./render-table.ts";

export type Comparison = {
  readonly name: string;
  readonly postern: Summary | undefined;
  readonly ceiling: Summary | undefined;
  readonly peer: Summary | undefined;
};

export const loadRow = ({ name, postern, ceiling, peer }: Comparison): Row => ({
  work: name,
  "per second": rate(postern?.perSecond),
  spread: postern === undefined ? "" : `${rate(postern.slowest)}-${rate(postern.fastest)}`,
  "p50 ms": milliseconds(postern?.p50),
  "p99 ms": milliseconds(postern?.p99),
  "CPU µs": microseconds(postern?.cpuMicroseconds),
  ceiling: rate(ceiling?.perSecond),
  "of ceiling": share(postern?.perSecond, ceiling?.perSecond),
  "ceiling CPU µs": microseconds(ceiling?.cpuMicroseconds),
  ...(peer === undefined ? {} : { peer: rate(peer.perSecond), "× peer": times(postern?.perSecond, peer.perSecond) }),
  failures: [postern?.failures, peer?.failures].filter((text) => text !== undefined && text !== "").join("; "),
});

const rate = (value: number | undefined): string =>
  value === undefined ? "" : value < 100 ? value.toFixed(1) : String(Math.round(value));
const milliseconds = (value: number | undefined): string => value?.toFixed(2) ?? "";
const microseconds = (value: number | undefined): string => value?.toFixed(1) ?? "";
const share = (a: number | undefined, b: number | undefined): string =>
  a === undefined || b === undefined ? "" : `${Math.round((a / b) * 100)} %`;
const times = (a: number | undefined, b: number): string => (a === undefined ? "" : `${(a / b).toFixed(1)} ×`);
