// Updates the owners of fields when an object is written, and merges applied configurations.
// Source: sigs.k8s.io/structured-merge-diff/merge/update.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import {
  difference,
  EMPTY_FIELD_SET,
  type FieldSet,
  intersection,
  isEmptyFieldSet,
  union,
} from "../fieldpath/field-set.ts";
import { type Comparison, compareValues, isUnchanged } from "../typed/compare-values.ts";
import { mergeValues } from "../typed/merge-values.ts";
import { reconcileFieldSet } from "../typed/reconcile-field-set.ts";
import { toFieldSet } from "../typed/to-field-set.ts";
import type { TypedSchema } from "../typed/typed-schema.ts";
import { type MergeConflict, MergeConflictError } from "./merge-conflict-error.ts";
import { pruneGivenUp } from "./prune-given-up.ts";
import type { Owners, VersionedSet } from "./versioned-set.ts";

type WriteInput = {
  readonly live: JsonValue;
  readonly owners: Owners;
  /** Identifier of the writing manager. */
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

export function createMergeUpdater(options: {
  readonly schema: TypedSchema;
  /** Removes untracked fields from a set. Default: every field is tracked. */
  readonly track?: (set: FieldSet) => FieldSet;
  /** Owners of versions that are no longer served are dropped. Default: every version is served. */
  readonly isServed?: (apiVersion: string) => boolean;
}): MergeUpdater {
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
