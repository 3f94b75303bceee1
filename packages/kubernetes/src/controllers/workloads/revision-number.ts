// The numbers of revisions are int64, and clients may write them: above 2^53 a number of JavaScript would be another one.

/** As strconv.ParseInt reads it; undefined: no int64. */
export function parseRevision(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** As upstream, the one after the greatest int64 is the least. */
export const revisionAfter = (newest: bigint): bigint => BigInt.asIntN(64, newest + 1n);

/** As JSON has it. */
export const revisionAsJson = (revision: bigint): number | bigint => {
  const near = Number(revision);
  return Number.isSafeInteger(near) ? near : revision;
};

export const compareRevisions = (a: bigint, b: bigint): number => (a === b ? 0 : a < b ? -1 : 1);
