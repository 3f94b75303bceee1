// Keeps managedFields up after a write that is no apply.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/fieldmanager.go (Update), managedfieldsupdater.go, skipnonapplied.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject, Timestamp } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { EMPTY_FIELD_SET, isEmptyFieldSet, union } from "../fieldpath/field-set.ts";
import { TypedValueError } from "../typed/typed-value-error.ts";
import { capUpdateOwners } from "./cap-update-owners.ts";
import type { FieldManagerCore, FieldManagerUpdate } from "./field-manager-core.ts";
import {
  decodeSentManagedFields,
  decodeStoredManagedFields,
  encodeManagedFields,
  isManagedFieldsError,
  type Managed,
  NOTHING_MANAGED,
} from "./managed-fields-codec.ts";
import { UNKNOWN_MANAGER } from "./manager-from-user-agent.ts";
import { withSet } from "./merge-updater.ts";
import { isReset, rawManagedFields, withManagedFields, withoutManagedFields } from "./object-managed-fields.ts";
import { formatOwnerId } from "./owner-id.ts";
import { withoutUntracked } from "./untracked-fields.ts";

export function* updateManagedFields(core: FieldManagerCore, input: FieldManagerUpdate): Steps<KubeObject> {
  const { live, next, manager, subresource = "", now } = input;
  const bare = withoutManagedFields(next);
  const managed = yield* managedBefore(live, next, subresource);
  // Without recorded managers, only an apply starts the record again.
  if (live !== undefined && managed.owners.size === 0) return bare;
  const before = { ...core.structs, ...(live === undefined ? {} : withoutManagedFields(live)) };
  const after = { ...core.structs, ...bare };
  yield;
  try {
    const kept = yield* trackUpdate(core, { before, after: after as JsonValue, managed, manager, subresource, now });
    yield;
    return withManagedFields(bare, yield* encodeManagedFields(kept));
  } catch (error) {
    // The owners are unknown for an object that does not fit its schema; validation is about to refuse it.
    if (error instanceof TypedValueError) return bare;
    throw error;
  }
}

/**
 * Clients may write managedFields through the main resource: `[{}]` drops them all, and valid entries replace them.
 * Absent, empty and malformed ones leave what is stored.
 */
function* managedBefore(live: KubeObject | undefined, next: KubeObject, subresource: string): Steps<Managed> {
  if (live === undefined) return NOTHING_MANAGED;
  const stored = rawManagedFields(live);
  const sent = rawManagedFields(next);
  if (subresource === "" && !equalJson(sent, stored)) {
    if (isReset(sent)) return NOTHING_MANAGED;
    const managed = yield* decodeSentManagedFields(sent);
    if (managed !== undefined && managed.owners.size > 0) return managed;
  }
  return yield* decodeStoredOrNothing(stored);
}

/** A write must not fail for what an earlier one has stored. */
function* decodeStoredOrNothing(stored: JsonValue | undefined): Steps<Managed> {
  try {
    return yield* decodeStoredManagedFields(stored);
  } catch (error) {
    if (isManagedFieldsError(error)) return NOTHING_MANAGED;
    throw error;
  }
}

export type TrackedUpdate = {
  readonly before: JsonValue;
  readonly after: JsonValue;
  readonly managed: Managed;
  readonly manager: string;
  readonly subresource: string;
  readonly now: Timestamp;
};

/** Owns what an update changes while it is under way, so that it can be distinguished from what the manager had before. */
const CURRENT_OPERATION = "current-operation";

/**
 * Records `manager` as the owner of what changed. Its entry takes the time only when something did.
 * @throws TypedValueError when the values do not fit the schema.
 */
export function* trackUpdate(core: FieldManagerCore, update: TrackedUpdate): Steps<Managed> {
  const { before, after, managed, manager, subresource, now } = update;
  const { apiVersion } = core;
  const settled = new Map(
    yield* core.updaterFor(subresource).updateInSteps({
      live: before,
      next: after,
      owners: managed.owners,
      manager: CURRENT_OPERATION,
      apiVersion,
    }),
  );
  yield;
  const changed = withoutUntracked(settled.get(CURRENT_OPERATION)?.set ?? EMPTY_FIELD_SET);
  settled.delete(CURRENT_OPERATION);
  if (isEmptyFieldSet(changed)) return capUpdateOwners({ owners: settled, times: managed.times });

  const id = formatOwnerId({ manager: manager || UNKNOWN_MANAGER, operation: "Update", apiVersion, subresource });
  const previous = settled.get(id) ?? { set: EMPTY_FIELD_SET, apiVersion, applied: false };
  settled.set(id, withSet(previous, union(previous.set, changed)));
  return capUpdateOwners({ owners: settled, times: new Map(managed.times).set(id, now) });
}
