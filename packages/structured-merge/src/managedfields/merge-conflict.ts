// The refusal of an apply that would change what others own.
// Source: sigs.k8s.io/structured-merge-diff/merge/conflict.go, apimachinery/pkg/util/managedfields/internal/conflict.go

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { type FieldPath, formatFieldPath } from "../fieldpath/field-path.ts";
import { describeOwner } from "./owner-id.ts";

export type MergeConflict = { readonly manager: string; readonly path: FieldPath };

/** Thrown by the merge engine; the field manager turns it into the 409 that clients see. */
export class MergeConflictError extends Error {
  override readonly name = "MergeConflictError";
  readonly conflicts: readonly MergeConflict[];

  constructor(conflicts: readonly MergeConflict[]) {
    super(describeConflicts(conflicts, (manager) => JSON.stringify(manager)));
    this.conflicts = conflicts;
  }
}

/**
 * `conflict with "m": .spec.user`, or one paragraph for each manager.
 * @param describe how a manager is named, quotes included
 */
export function describeConflicts(conflicts: readonly MergeConflict[], describe: (manager: string) => string): string {
  const [only] = conflicts;
  if (conflicts.length === 1 && only !== undefined) {
    return `conflict with ${describe(only.manager)}: ${formatFieldPath(only.path)}`;
  }
  const byManager = new Map<string, string[]>();
  for (const { manager, path } of conflicts) {
    const lines = byManager.get(manager) ?? [];
    lines.push(`- ${formatFieldPath(path)}`);
    byManager.set(manager, lines);
  }
  return [...byManager.keys()]
    .sort()
    .flatMap((manager) => [`conflicts with ${describe(manager)}:`, ...(byManager.get(manager) ?? [])])
    .join("\n");
}

// The 409 that an apply is answered with when others own what it would change.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go

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
