// The scales of plots: sums of equal parts, and the end of an axis.

/** Sums of `size` values each; the last has what is left. */
export function sumsOf(values: readonly number[], size: number): readonly number[] {
  const sums: number[] = [];
  for (let at = 0; at < values.length; at += size) {
    let sum = 0;
    for (let index = at; index < Math.min(at + size, values.length); index++) sum += values[index] ?? 0;
    sums.push(sum);
  }
  return sums;
}

export const highestOf = (values: readonly number[]): number => values.reduce((most, each) => Math.max(most, each), 0);

/** The first number that is 1, 2 or 5 with zeros behind it, and not less: where an axis ends. */
export function roundUp(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((end) => end >= value) ?? value;
}

/** Heights of a bar and of its bad part, of `full` for `end`. A bar with one of many is still seen, and its bad part never has more than its share. */
export function barHeights(count: number, bad: number, end: number, full: number): { all: number; bad: number } {
  if (count === 0) return { all: 1, bad: 0 };
  const all = Math.max((count / end) * full, 3);
  return { all, bad: bad === 0 ? 0 : Math.max((bad / count) * all, 1) };
}

/** The points of a line through the middle of each value's part, in a box of `width` x `height`; zero is at the bottom. */
export function pointsOf(values: readonly number[], end: number, width: number, height: number): string {
  const step = width / Math.max(values.length, 1);
  return values
    .map((value, at) => `${((at + 0.5) * step).toFixed(1)},${(height - (value / end) * height).toFixed(1)}`)
    .join(" ");
}
