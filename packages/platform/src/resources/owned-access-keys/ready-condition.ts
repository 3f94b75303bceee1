// The Ready condition of an access key.

import type { KeyRefusal } from "../../access-keys/key-validity.ts";
import type { ConditionState } from "../../api/conditions.ts";

/** The reason of a valid key. */
export const READY = "Accepted";

export const readyCondition = (refusal: KeyRefusal | undefined): ConditionState =>
  refusal === undefined
    ? { type: "Ready", holds: true, reason: READY, message: "The access key is valid" }
    : { type: "Ready", holds: false, reason: refusal.reason, message: sentence(refusal.message) };

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What is known of a key at its write; the rest is found out afterwards. */
export const readyByItself = (disabled: boolean): ConditionState =>
  readyCondition(disabled ? { reason: "Disabled", message: "disabled" } : undefined);
