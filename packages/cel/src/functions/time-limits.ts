// Which points in time and durations there are.
// Source: github.com/google/cel-go/common/types/{timestamp,duration}.go

import { CelDuration, CelTimestamp, failCel } from "../cel-value.ts";

const SECOND = 1_000_000_000n;
const [MAX_DURATION, MIN_TIMESTAMP, MAX_TIMESTAMP] = [
  2n ** 63n - 1n,
  BigInt(Date.parse("0001-01-01T00:00:00Z")) * 1_000_000n,
  (BigInt(Date.parse("9999-12-31T23:59:59Z")) / 1_000n) * SECOND + SECOND - 1n,
];

export const checkDuration = (nanoseconds: bigint): CelDuration =>
  nanoseconds > MAX_DURATION || nanoseconds < -MAX_DURATION - 1n
    ? failCel("integer overflow")
    : new CelDuration(nanoseconds);

export const checkTimestamp = (nanoseconds: bigint, offsetMinutes = 0): CelTimestamp =>
  nanoseconds > MAX_TIMESTAMP || nanoseconds < MIN_TIMESTAMP
    ? failCel("timestamp overflow")
    : new CelTimestamp(nanoseconds, offsetMinutes);
