// Why what stands beside it cannot be done, in the server's words.

import type { Right } from "../api/use-may.ts";

/** Nothing where it can, and until the server has answered. */
export function WhyNot({ right }: { readonly right: Right }) {
  const { isKnown, isAllowed, reason } = right;
  return isKnown && !isAllowed ? <span className="hint">{reason}</span> : null;
}
