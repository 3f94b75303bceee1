// The Ready condition of an access key.

import type { ConditionState } from "@postern/api/conditions";
import type { KeyRefusal } from "../../validity/ready-reasons.ts";

const ACCEPTED: ConditionState = {
  type: "Ready",
  holds: true,
  reason: "Accepted",
  message: "The access key is valid",
};

const TERMINATING: ConditionState = {
  type: "Ready",
  holds: true,
  reason: "Terminating",
  message: "The access key is valid until metadata.deletionTimestamp",
};

/** The condition of a valid key; `isTerminating` in the grace period of its deletion. */
export const acceptedCondition = (isTerminating: boolean): ConditionState => (isTerminating ? TERMINATING : ACCEPTED);

export const readyCondition = (refusal: KeyRefusal | undefined): ConditionState =>
  refusal === undefined
    ? ACCEPTED
    : { type: "Ready", holds: false, reason: refusal.reason, message: sentence(refusal.message) };

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Condition that is known of a key at its write; the rest is found out afterwards. */
export const readyByItself = (disabled: boolean): ConditionState =>
  readyCondition(disabled ? { reason: "Disabled", message: "disabled" } : undefined);
