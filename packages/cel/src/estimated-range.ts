// The lowest and highest estimate of a size or a cost, up to 2^64.
// Source: github.com/google/cel-go/checker/cost.go (SizeEstimate, CostEstimate)

export type Range = { readonly min: number; readonly max: number };

export const MAX_ESTIMATE = 2 ** 64;
export const UNKNOWN: Range = { min: 0, max: MAX_ESTIMATE };

export const exactly = (value: number): Range => ({ min: value, max: value });

export const add = (...ranges: readonly Range[]): Range =>
  ranges.reduce((a, b) => ({ min: capped(a.min + b.min), max: capped(a.max + b.max) }), exactly(0));

export const multiply = (a: Range, b: Range): Range => ({ min: capped(a.min * b.min), max: capped(a.max * b.max) });

/** Rounded up. */
export const scale = ({ min, max }: Range, factor: number): Range => ({
  min: capped(Math.ceil(min * factor)),
  max: capped(Math.ceil(max * factor)),
});

export const union = (a: Range, b: Range): Range => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });

const capped = (value: number): number => Math.min(value, MAX_ESTIMATE);
