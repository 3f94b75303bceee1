// Keeps up who owns which field when an object is written, and merges what is applied.
// Source: sigs.k8s.io/structured-merge-diff/merge/update.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import {
  countMembers,
  difference,
  EMPTY_FIELD_SET,
  type FieldSet,
  firstPathsOf,
  intersection,
  isEmptyFieldSet,
  union,
  withLastResult,
} from "../fieldpath/field-set.ts";
import { type FieldPath, fieldNameOf, formatFieldPath, type PathElement } from "../fieldpath/path-element.ts";
import { type Comparison, compareValues, isUnchanged } from "../typed/compare-values.ts";
import { mergeValues } from "../typed/merge-values.ts";
import { reconcileFieldSet } from "../typed/reconcile-field-set.ts";
import { removeItems } from "../typed/remove-items.ts";
import { toFieldSet } from "../typed/to-field-set.ts";
import { memberSchema, type TypedSchema } from "../typed/typed-schema.ts";
import { describeOwner } from "./owner-id.ts";

/** Fields of one manager, with their API version, and whether it got them by applying. */
export type VersionedSet = {
  readonly set: FieldSet;
  readonly apiVersion: string;
  readonly applied: boolean;
  /** The set as it is written, where that is known already: most writes leave most owners as they are. */
  readonly fieldsV1?: JsonObject;
};

/** The owners by their identifiers. */
export type Owners = ReadonlyMap<string, VersionedSet>;

export type MergeUpdaterOptions = {
  readonly schema: TypedSchema;
  /** Removes untracked fields from a set. Default: every field is tracked. */
  readonly track?: (set: FieldSet) => FieldSet;
  /** Owners of versions that are no longer served are dropped. Default: every version is served. */
  readonly isServed?: (apiVersion: string) => boolean;
};

type WriteInput = {
  readonly live: JsonValue;
  readonly owners: Owners;
  /** Identifier of the one who writes. */
  readonly manager: string;
  readonly apiVersion: string;
};

export type UpdateInput = WriteInput & { readonly next: JsonValue };

export type ApplyInput = WriteInput & {
  readonly applied: JsonValue;
  /** Takes fields over from their owners, instead of a conflict. */
  readonly force: boolean;
};

export type ApplyResult = {
  /** Undefined when the apply leaves the live object as it is. */
  readonly object: JsonValue | undefined;
  readonly owners: Owners;
};

export type MergeUpdater = {
  /**
   * The owners after a write that is no apply: `manager` owns what it added or changed, beside what it had.
   * @throws TypedValueError when the values cannot be compared under the schema.
   */
  update(input: UpdateInput): Owners;
  updateInSteps(input: UpdateInput): Steps<Owners>;
  /**
   * Lays `applied` over `live`. `manager` owns what it applied, and nothing else any more: what it gave up is removed
   * unless others own it.
   * @throws MergeConflictError when others own what changes; TypedValueError when the schema does not allow the merge.
   */
  apply(input: ApplyInput): ApplyResult;
  applyInSteps(input: ApplyInput): Steps<ApplyResult>;
};

export function createMergeUpdater(options: MergeUpdaterOptions): MergeUpdater {
  const { schema, track = (set) => set, isServed = () => true } = options;

  function* reconcileOwners(owners: Owners): Steps<Map<string, VersionedSet>> {
    const reconciled = new Map<string, VersionedSet>();
    for (const [id, owned] of owners) {
      if (!isServed(owned.apiVersion)) continue;
      reconciled.set(id, withSet(owned, reconcileFieldSet(owned.set, schema)));
      yield;
    }
    return reconciled;
  }

  function* compare(live: JsonValue, next: JsonValue): Steps<Comparison> {
    const { added, removed, modified } = compareValues(live, next, schema);
    yield;
    return { added: track(added), removed: track(removed), modified: track(modified) };
  }

  const updater: Pick<MergeUpdater, "updateInSteps" | "applyInSteps"> = {
    *updateInSteps({ live, next, owners, manager, apiVersion }) {
      const comparison = yield* compare(live, next);
      yield;
      const settled = yield* settle(yield* reconcileOwners(owners), comparison, manager);
      yield;
      const before = settled.get(manager)?.set ?? EMPTY_FIELD_SET;
      const changed = union(comparison.modified, comparison.added);
      return withOwner(settled, manager, {
        set: track(union(difference(before, comparison.removed), changed)),
        apiVersion,
        applied: false,
      });
    },

    *applyInSteps({ live, applied, owners, manager, apiVersion, force }) {
      const reconciled = yield* reconcileOwners(owners);
      const last = reconciled.get(manager);
      const merged = mergeValues(live, applied, schema);
      yield;
      reconciled.set(manager, { set: track(toFieldSet(applied, schema)), apiVersion, applied: true });
      yield;
      const next = last === undefined ? merged : yield* pruneGivenUp(merged, last.set, reconciled, manager, schema);

      yield;
      const comparison = yield* compare(live, next);
      yield;
      if (!force) yield* throwOnConflict(reconciled, comparison, manager);
      const object = equalJson(live, next) ? undefined : next;
      yield;
      return { object, owners: yield* settle(reconciled, comparison, manager) };
    },
  };
  return {
    ...updater,
    update: (input) => runSteps(updater.updateInSteps(input)),
    apply: (input) => runSteps(updater.applyInSteps(input)),
  };
}

/** Drops the written form along with the set that it was of. */
export const withSet = (owned: VersionedSet, set: FieldSet): VersionedSet =>
  set === owned.set ? owned : { set, apiVersion: owned.apiVersion, applied: owned.applied };

function withOwner(owners: Owners, id: string, owned: VersionedSet): Owners {
  const next = new Map(owners);
  if (isEmptyFieldSet(owned.set)) next.delete(id);
  else next.set(id, owned);
  return next;
}

/** Owners that are left after `manager` changed and removed fields. Owners without fields are dropped. */
function* settle(owners: Owners, comparison: Comparison, manager: string): Steps<Owners> {
  const settled = new Map<string, VersionedSet>();
  const untouched = isUnchanged(comparison);
  for (const [id, owned] of owners) {
    const set = id === manager || untouched ? owned.set : withoutChanged(owned.set, comparison);
    if (!isEmptyFieldSet(set)) settled.set(id, withSet(owned, set));
    if (set !== owned.set) yield;
  }
  return settled;
}

const withoutChanged = (set: FieldSet, { added, removed, modified }: Comparison): FieldSet =>
  difference(difference(difference(set, modified), added), removed);

function* throwOnConflict(owners: Owners, { added, modified }: Comparison, manager: string): Steps<void> {
  const changed = union(modified, added);
  if (isEmptyFieldSet(changed)) return;
  const conflicts: MergeConflict[] = [];
  for (const id of [...owners.keys()].sort()) {
    const owned = owners.get(id);
    if (id === manager || owned === undefined) continue;
    const fields = intersection(owned.set, changed);
    if (!isEmptyFieldSet(fields)) conflicts.push({ manager: id, fields });
    yield;
  }
  if (conflicts.length > 0) throw new MergeConflictError(conflicts);
}

// Removes from a merged object what an applier applied before and does not apply any more.
// Source: sigs.k8s.io/structured-merge-diff/merge/update.go (prune)

/**
 * Removes a field only when the applier owned it and nobody owns it now. Fields below a removed one go with it, unless
 * the applier did not own them.
 * @param lastSet what the applier owned before
 * @param owners everybody's fields, with what the applier owns now
 */
function* pruneGivenUp(
  merged: JsonValue,
  lastSet: FieldSet,
  owners: Owners,
  manager: string,
  schema: TypedSchema,
): Steps<JsonValue> {
  const ownSet = owners.get(manager)?.set;
  // Nothing was given up: the common case of an apply that is repeated.
  if (ownSet !== undefined && isEmptyFieldSet(difference(lastSet, ownSet))) return merged;

  const named = (set: FieldSet): FieldSet => withNamedFields(set, schema);
  const fieldsOf = (value: JsonValue): FieldSet => named(toFieldSet(value, schema));
  yield;
  const mergedSet = fieldsOf(merged);
  yield;

  const withoutLast = removeItems(merged, named(lastSet), schema);
  yield;
  const rest = fieldsOf(withoutLast);
  yield;
  let owned = rest;
  for (const { set } of owners.values()) {
    owned = union(owned, named(set));
    yield;
  }
  const withOwned = removeItems(merged, difference(mergedSet, owned), schema);

  yield;
  const gone = difference(mergedSet, fieldsOf(withOwned));
  yield;
  return removeItems(merged, intersection(gone, named(lastSet)), schema);
}

// Source: sigs.k8s.io/structured-merge-diff/fieldpath/set.go (EnsureNamedFieldsAreMembers)
/** `set` with every declared field that has members below it as a member itself; keys of maps are left as they are. */
function withNamedFields(set: FieldSet, schema: TypedSchema): FieldSet {
  if (set.children.size === 0) return set;
  const members = new Set(set.members);
  const children = new Map<PathElement, FieldSet>();
  const namedBelow = withLastResult(withNamedFields);
  for (const [element, child] of set.children) {
    const name = fieldNameOf(element);
    if (name !== undefined && schema.map?.fields.has(name)) members.add(element);
    children.set(element, namedBelow(child, schemaBelow(schema, element)));
  }
  return { members, children };
}

/** Forgets everything below a step that the schema does not know. */
const NOTHING: TypedSchema = {};

function schemaBelow(schema: TypedSchema, element: PathElement): TypedSchema {
  const name = fieldNameOf(element);
  if (name !== undefined) return (schema.map && memberSchema(schema.map, name)) ?? NOTHING;
  if (element.startsWith("k:")) return schema.list?.element ?? NOTHING;
  return NOTHING;
}

// The refusal of an apply that would change what others own.
// Source: sigs.k8s.io/structured-merge-diff/merge/conflict.go, apimachinery/pkg/util/managedfields/internal/conflict.go

type MergeConflict = { readonly manager: string; readonly fields: FieldSet };

/**
 * So many fields of a refusal are named. Upstream names all: a path for each item of a long list, again in a cause of its own, is a response of
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
function describeConflicts(conflicts: readonly MergeConflict[], describe: (manager: string) => string): string {
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

// The 409 that an apply is answered with when others own what it would change.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go

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
