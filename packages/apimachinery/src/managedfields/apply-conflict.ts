// The 409 that an apply is answered with when others own what it would change.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go

import { formatFieldPath } from "../fieldpath/field-path.ts";
import { ApiError } from "../meta/api-error.ts";
import { describeConflicts, type MergeConflictError } from "./merge-conflict.ts";
import { describeOwner } from "./owner-id.ts";

export function applyConflictError(cause: MergeConflictError): ApiError {
  const { conflicts } = cause;
  const count = conflicts.length === 1 ? "1 conflict" : `${conflicts.length} conflicts`;
  return new ApiError({
    code: 409,
    reason: "Conflict",
    message: `Apply failed with ${count}: ${describeConflicts(conflicts, describeOwner)}`,
    details: {
      causes: conflicts.map(({ manager, path }) => ({
        reason: "FieldManagerConflict",
        message: `conflict with ${describeOwner(manager)}`,
        field: formatFieldPath(path),
      })),
    },
    cause,
  });
}
