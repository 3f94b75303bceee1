// The 409 response to an apply that would change fields of other managers.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { formatFieldPath } from "../fieldpath/path-element.ts";
import { describeConflicts, type MergeConflictError } from "./merge-conflict-error.ts";
import { describeOwner } from "./owner-id.ts";

export function applyConflictError(cause: MergeConflictError): ApiError {
  const { conflicts, count } = cause;
  return new ApiError({
    code: 409,
    reason: "Conflict",
    message: `Apply failed with ${count === 1 ? "1 conflict" : `${count} conflicts`}: ${describeConflicts(conflicts, describeOwner)}`,
    details: {
      causes: cause.named().map(({ manager, path }) => ({
        reason: "FieldManagerConflict",
        message: `conflict with ${describeOwner(manager)}`,
        field: formatFieldPath(path),
      })),
    },
    cause,
  });
}
