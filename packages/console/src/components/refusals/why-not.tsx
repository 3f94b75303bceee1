// Explains, in the server's words, why an action is not allowed.

import type { Right } from "../../api/use-may.ts";
import { Notice } from "../notice.tsx";
import { AskLink } from "./ask-link.tsx";

/** Renders nothing if the action is allowed, or before the server has answered. */
export function WhyNot({ right }: { readonly right: Right }) {
  const { isKnown, isAllowed, reason } = right;
  return isKnown && !isAllowed ? (
    <span className="hint">
      {reason} <AskLink message={reason} />
    </span>
  ) : null;
}

/** The same as a notice, above the buttons of a form. */
export function MayNot({ right: { isKnown, isAllowed, reason } }: { readonly right: Right }) {
  return isKnown && !isAllowed ? <Notice tone="warn">{reason}</Notice> : null;
}
