// Why a key is refused, as the condition Ready and the audit log say it.

/** Why a key is refused: a reason for programs, and a message for users. Neither contains a secret. */
export type KeyRefusal = { readonly reason: KeyRefusalReason; readonly message: string };

/** The reasons of the condition Ready. Valid keys have `Accepted`, or `Terminating` in the grace period of their deletion. */
export const READY_REASONS = [
  "Accepted",
  "Deleting",
  "Disabled",
  "Expired",
  "Leaked",
  "OwnerGone",
  "OwnerLocked",
  "ParentRefused",
  "Replaced",
  "RetiredValueUsed",
  "Revoked",
  "Terminating",
  "TrustWithdrawn",
  "UsesExhausted",
] as const;

export type KeyRefusalReason = Exclude<(typeof READY_REASONS)[number], "Accepted" | "Terminating"> | "Unknown";

/** The refusal of a key whose grant has ended. */
export const withdrawn = (message: string): KeyRefusal => ({ reason: "TrustWithdrawn", message });
