// Handles unknown and duplicate fields: ignored, warned about, or rejected.
// Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#validation-for-unrecognized-or-duplicate-fields

import type { WarningRecorder } from "../../context/request-context.ts";

export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** The directive of a request; an absent one means Warn. */
export const fieldValidationOf = (directive: string | undefined): FieldValidation =>
  directive === "Ignore" || directive === "Strict" ? directive : "Warn";

export type StrictErrors = { readonly warnings: readonly string[]; readonly errors: readonly string[] };

/** Warns about the faults, or throws what `refuse` makes of them. */
export function applyFieldValidation(
  directive: FieldValidation,
  { warnings: texts, errors }: StrictErrors,
  warnings: WarningRecorder,
  refuse: (why: string) => Error,
): void {
  if (directive === "Ignore" || texts.length === 0) return;
  if (directive === "Strict") throw refuse(`strict decoding error: ${errors.join(", ")}`);
  for (const text of texts) warnings.add(text);
}
