// The error of an apply that would change fields of other managers.
// Source: sigs.k8s.io/structured-merge-diff/merge/conflict.go, apimachinery/pkg/util/managedfields/internal/conflict.go

import { countMembers, difference, type FieldSet, firstPathsOf, isEmptyFieldSet } from "../fieldpath/field-set.ts";
import { type FieldPath, formatFieldPath } from "../fieldpath/path-element.ts";

export type MergeConflict = { readonly manager: string; readonly fields: FieldSet };

/**
 * Fields of a refusal that are named. Upstream names all: a path for each item of a long list, again in a cause of its own, is a response of
 * megabytes that says no more.
 */
export const MAX_NAMED_CONFLICTS = 500;

/** Thrown by the merge engine; the field manager turns it into the 409 that clients see. */
export class MergeConflictError extends Error {
  override readonly name = "MergeConflictError";
  readonly conflicts: readonly MergeConflict[];

  constructor(conflicts: readonly MergeConflict[]) {
    super(describeConflicts(conflicts, (manager) => JSON.stringify(manager)));
    this.conflicts = conflicts;
  }

  /** The first of them, each with its path. */
  named(): readonly NamedConflict[] {
    return namedConflicts(this.conflicts);
  }

  /** How many there are. */
  get count(): number {
    return countConflicts(this.conflicts);
  }

  /** The same without conflicts about these fields; undefined where that leaves none. */
  without(allowed: FieldSet): MergeConflictError | undefined {
    const left = this.conflicts
      .map(({ manager, fields }) => ({ manager, fields: difference(fields, allowed) }))
      .filter(({ fields }) => !isEmptyFieldSet(fields));
    return left.length === 0 ? undefined : new MergeConflictError(left);
  }
}

type NamedConflict = { readonly manager: string; readonly path: FieldPath };

function namedConflicts(conflicts: readonly MergeConflict[]): readonly NamedConflict[] {
  const named: NamedConflict[] = [];
  for (const { manager, fields } of conflicts) {
    for (const path of firstPathsOf(fields)) {
      if (named.length === MAX_NAMED_CONFLICTS) return named;
      named.push({ manager, path });
    }
  }
  return named;
}

const countConflicts = (conflicts: readonly MergeConflict[]): number =>
  conflicts.reduce((count, { fields }) => count + countMembers(fields), 0);

/**
 * `conflict with "m": .spec.user`, or one paragraph for each manager.
 * @param describe how a manager is named, quotes included
 */
export function describeConflicts(conflicts: readonly MergeConflict[], describe: (manager: string) => string): string {
  const named = namedConflicts(conflicts);
  const [only] = named;
  if (named.length === 1 && only !== undefined) {
    return `conflict with ${describe(only.manager)}: ${formatFieldPath(only.path)}`;
  }
  const byManager = new Map<string, string[]>();
  for (const { manager, path } of named) {
    const lines = byManager.get(manager) ?? [];
    lines.push(`- ${formatFieldPath(path)}`);
    byManager.set(manager, lines);
  }
  const more = countConflicts(conflicts) - named.length;
  return [
    ...[...byManager.keys()]
      .sort()
      .flatMap((manager) => [`conflicts with ${describe(manager)}:`, ...(byManager.get(manager) ?? [])]),
    ...(more === 0 ? [] : [`and ${more} more`]),
  ].join("\n");
}
