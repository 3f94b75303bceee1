// Measures how much was written since a few revisions, so that a store can compact what exceeds the size that it keeps.

import type { Revision } from "./storage.ts";

type HistorySize = {
  /** Something was written. Gives the revision up to which history is too much; undefined where it is not. */
  written(bytes: number, revision: Revision): Revision | undefined;
};

/** So exact is the limit: it is passed by a tenth of itself at most, and by one commit. */
const SIZE_STEPS = 10;

export function createHistorySize(keepBytes: number): HistorySize {
  /** The oldest first: how much had been written in all when the store was at a revision. */
  const marks: { readonly revision: Revision; readonly total: number }[] = [];
  let total = 0;
  return {
    written(bytes, revision) {
      total += bytes;
      if (total - (marks.at(-1)?.total ?? 0) < keepBytes / SIZE_STEPS) return undefined;
      marks.push({ revision, total });
      let target: Revision | undefined;
      while (total - (marks[0]?.total ?? total) >= keepBytes) target = marks.shift()?.revision;
      return target;
    },
  };
}
