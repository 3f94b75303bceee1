// Bounds of a key beside its permissions: a key is never less bound than the one that it was made with.

import type { AccessKeyState } from "../access-key-state.ts";
import { isWithinAudiences } from "../audiences.ts";
import { isWithinRanges } from "../source-ranges.ts";

export type KeyBounds = Pick<AccessKeyState, "sourceRanges" | "audiences" | "confirmation">;

/** The first bound of `outer` that `inner` is not within; undefined: it is within all. A bound key may have a certificate or key pair of its own. */
export function exceededBound(inner: KeyBounds, outer: KeyBounds): keyof KeyBounds | undefined {
  if (!isWithinRanges(inner.sourceRanges, outer.sourceRanges)) return "sourceRanges";
  if (!isWithinAudiences(inner.audiences, outer.audiences)) return "audiences";
  return outer.confirmation !== "" && inner.confirmation === "" ? "confirmation" : undefined;
}
