// Completion indexes of a Job as text, such as `0,3-5`: never as single numbers, since a range may have very many.
// Source: k8s.io/kubernetes/pkg/controller/job/indexed_job_utils.go (orderedIntervals)

/** First and last index of each range, in order, with a gap between each two. */
export type IndexRanges = readonly (readonly [number, number])[];

/** Ranges of a text that are read; a client may write any. */
const MOST_RANGES = 10_000;

/** Ranges that are wrong or not in order are left out. */
export function parseRanges(text: string, completions: number): IndexRanges {
  const ranges: [number, number][] = [];
  for (const part of text.split(",", MOST_RANGES)) {
    const [, first, last] = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(part) ?? [];
    if (first === undefined) continue;
    const start = Number(first);
    const end = Math.min(Number(last ?? first), completions - 1);
    const before = ranges.at(-1);
    if (start > end || start <= (before?.[1] ?? -1)) continue;
    if (before !== undefined && start === before[1] + 1) before[1] = end;
    else ranges.push([start, end]);
  }
  return ranges;
}

export const rangesText = (ranges: IndexRanges): string =>
  ranges
    .map(([first, last]) => (first === last ? `${first}` : `${first}${last === first + 1 ? "," : "-"}${last}`))
    .join(",");

export const countOf = (ranges: IndexRanges): number =>
  ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);

export function hasIndex(ranges: IndexRanges, index: number): boolean {
  let low = 0;
  let high = ranges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranges[middle] ?? [0, -1];
    if (index < first) high = middle - 1;
    else if (index > last) low = middle + 1;
    else return true;
  }
  return false;
}

export const withIndexes = (ranges: IndexRanges, indexes: readonly number[]): IndexRanges =>
  joinRanges(
    ranges,
    indexes.map((index) => [index, index] as const),
  );

export function joinRanges(ranges: IndexRanges, others: IndexRanges): IndexRanges {
  const joined: [number, number][] = [];
  for (const [first, last] of [...ranges, ...others].toSorted(([a], [b]) => a - b)) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

/** How many indexes are in both. */
export function countCommon(ranges: IndexRanges, others: IndexRanges): number {
  let count = 0;
  for (let i = 0, j = 0; i < ranges.length && j < others.length; ) {
    const [first, last] = ranges[i] ?? [0, -1];
    const [otherFirst, otherLast] = others[j] ?? [0, -1];
    count += Math.max(0, Math.min(last, otherLast) - Math.max(first, otherFirst) + 1);
    if (last <= otherLast) i++;
    if (otherLast <= last) j++;
  }
  return count;
}

/** The lowest indexes below `completions` that are in neither. */
export function freeIndexes(
  ranges: IndexRanges,
  taken: ReadonlySet<number>,
  completions: number,
  most: number,
): readonly number[] {
  const free: number[] = [];
  let at = 0;
  for (const [first, last] of [...ranges, [completions, completions] as const]) {
    for (; at < first && at < completions && free.length < most; at++) if (!taken.has(at)) free.push(at);
    at = Math.max(at, last + 1);
  }
  return free;
}
