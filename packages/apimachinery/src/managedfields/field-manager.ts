// Keeps metadata.managedFields up on every write of one kind, and carries out server-side apply.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/fieldmanager.go and the managers it chains

import { type FieldPath, fieldPath } from "../fieldpath/field-path.ts";
import { EMPTY_FIELD_SET, type FieldSet, fieldSetOf, hasPath, isEmptyFieldSet, union } from "../fieldpath/field-set.ts";
import { equalJson } from "../json/equal-json.ts";
import type { JsonValue } from "../json/json-value.ts";
import { badRequestError, untypedError } from "../meta/api-error.ts";
import { formatApiVersion, type GroupVersion, parseApiVersion } from "../meta/group-version.ts";
import type { KubeObject, Timestamp } from "../meta/object-meta.ts";
import type { StructuralSchema } from "../schema/structural-schema.ts";
import { objectSchemaFrom } from "../typed/schema-from-structural.ts";
import { TypedValueError } from "../typed/typed-value-error.ts";
import { validateValue } from "../typed/validate-value.ts";
import { applyConflictError } from "./apply-conflict.ts";
import { capUpdateOwners } from "./cap-update-owners.ts";
import { fieldsLastApplied, LAST_APPLIED_MANAGER, withLastApplied } from "./last-applied.ts";
import { createManagedFieldsCodec, type Managed, NOTHING_MANAGED } from "./managed-fields-codec.ts";
import { UNKNOWN_MANAGER } from "./manager-from-user-agent.ts";
import { MergeConflictError } from "./merge-conflict.ts";
import { createMergeUpdater, type MergeUpdater } from "./merge-updater.ts";
import { isReset, rawManagedFields, withManagedFields, withoutManagedFields } from "./object-managed-fields.ts";
import { formatOwnerId } from "./owner-id.ts";
import { trackedFields } from "./tracked-fields.ts";
import { withoutUntracked } from "./untracked-fields.ts";

export type FieldManagerOptions = {
  /** Of the whole object. Without one, maps are granular and lists atomic. */
  readonly schema: StructuralSchema | undefined;
  readonly groupVersion: GroupVersion;
  /** True when status is written through its own subresource. Default false. */
  readonly hasStatus?: boolean;
  /** Fields that nobody may own, such as `["spec", "key"]`, with everything below them. */
  readonly untrackedPaths?: readonly (readonly string[])[];
};

type WriteInput = {
  /** The stored object; undefined when the write creates it. */
  readonly live: KubeObject | undefined;
  /** The name of the writer; empty counts as `unknown`. */
  readonly manager: string;
  /** Empty, or absent, for the main resource. */
  readonly subresource?: string;
  readonly now: Timestamp;
};

export type FieldManagerUpdate = WriteInput & {
  /** The object as it is to be stored; its own managedFields are what the client sent. */
  readonly next: KubeObject;
};

export type FieldManagerApply = WriteInput & {
  readonly applied: KubeObject;
  /** Take fields from those who own them. Default false. */
  readonly force?: boolean;
};

export type FieldManager = {
  /** `next` with managedFields kept up, for every write but an apply. Objects that do not fit the schema lose theirs. */
  update(input: FieldManagerUpdate): KubeObject;
  /**
   * The live object with `applied` laid over it, and managedFields kept up.
   * @throws ApiError 400 when `applied` is of another version or has managedFields; 409 for conflicts; 500 without a
   * reason when `applied` does not fit the schema.
   */
  apply(input: FieldManagerApply): KubeObject;
};

/** Owns, while an update is under way, what that update changes. */
const CURRENT_OPERATION = "current-operation";

/** Owns what was there before an object's fields were tracked. */
const BEFORE_FIRST_APPLY = "before-first-apply";

const NOTHING: JsonValue = {};

export function createFieldManager(options: FieldManagerOptions): FieldManager {
  const { groupVersion, hasStatus = false } = options;
  const schema = objectSchemaFrom(options.schema);
  const apiVersion = formatApiVersion(groupVersion);
  const untracked: readonly FieldPath[] = (options.untrackedPaths ?? []).map((path) => fieldPath(...path));
  const codec = createManagedFieldsCodec();
  const updaters = new Map<string, MergeUpdater>();

  const updaterFor = (subresource: string): MergeUpdater => {
    let updater = updaters.get(subresource);
    if (updater === undefined) {
      const track = trackedFields({ subresource, hasStatus, untracked });
      updater = createMergeUpdater({ schema, track, isServed: (version) => version === apiVersion });
      updaters.set(subresource, updater);
    }
    return updater;
  };

  const storedManaged = (live: KubeObject | undefined): Managed =>
    live === undefined ? NOTHING_MANAGED : codec.decode(rawManagedFields(live), true);

  /** Nothing where they cannot be read: a write must not fail for them. */
  const storedManagedOrNothing = (live: KubeObject | undefined): Managed => {
    try {
      return storedManaged(live);
    } catch {
      return NOTHING_MANAGED;
    }
  };

  /** Clients may write managedFields through the main resource; what cannot be read of it is ignored. */
  const managedBefore = (live: KubeObject | undefined, next: KubeObject, subresource: string): Managed => {
    if (live === undefined) return NOTHING_MANAGED;
    const sent = rawManagedFields(next);
    if (subresource !== "" || equalJson(sent, rawManagedFields(live))) return storedManagedOrNothing(live);
    if (isReset(sent)) return NOTHING_MANAGED;
    try {
      const managed = codec.decode(sent, false);
      if (managed.owners.size > 0) return managed;
    } catch {
      // Malformed entries count as none.
    }
    return storedManagedOrNothing(live);
  };

  type Tracked = { readonly before: JsonValue; readonly after: JsonValue; readonly managed: Managed };

  const trackUpdate = ({ before, after, managed }: Tracked, manager: string, subresource: string, now: Timestamp) => {
    const { owners, times } = managed;
    const write = { live: before, next: after, owners, manager: CURRENT_OPERATION, apiVersion };
    const settled = new Map(updaterFor(subresource).update(write));
    const changed = withoutUntracked(settled.get(CURRENT_OPERATION)?.set ?? EMPTY_FIELD_SET);
    settled.delete(CURRENT_OPERATION);
    if (isEmptyFieldSet(changed)) return capUpdateOwners({ owners: settled, times });

    const id = formatOwnerId({ manager: manager || UNKNOWN_MANAGER, operation: "Update", apiVersion, subresource });
    const owned = union(settled.get(id)?.set ?? EMPTY_FIELD_SET, changed);
    settled.set(id, { set: owned, apiVersion, applied: false });
    return capUpdateOwners({ owners: settled, times: new Map(times).set(id, now) });
  };

  return {
    update({ live, next, manager, subresource = "", now }) {
      const bare = withoutManagedFields(next);
      const managed = managedBefore(live, next, subresource);
      // Once nobody is recorded, only an apply starts the record again.
      if (live !== undefined && managed.owners.size === 0) return bare;
      const before = live === undefined ? NOTHING : jsonOf(withoutManagedFields(live));
      try {
        const kept = trackUpdate({ before, after: jsonOf(bare), managed }, manager, subresource, now);
        return withManagedFields(bare, codec.encode(kept));
      } catch (error) {
        if (error instanceof TypedValueError) return bare;
        throw error;
      }
    },

    apply({ live, applied, manager, subresource = "", force = false, now }) {
      checkApplied(applied, apiVersion);
      const bareLive = live === undefined ? undefined : withoutManagedFields(live);
      const before = bareLive === undefined ? NOTHING : jsonOf(bareLive);
      const id = formatOwnerId({ manager: manager || UNKNOWN_MANAGER, operation: "Apply", subresource });

      let managed = wrapFault("failed to decode managed fields", () => storedManaged(live));
      if (managed.owners.size === 0 && live !== undefined) {
        const tracked = { before: NOTHING, after: before, managed };
        managed = wrapFault("failed to create manager for existing fields", () =>
          trackUpdate(tracked, BEFORE_FIRST_APPLY, subresource, now),
        );
      }
      wrapFault(`failed to create typed patch object (${describeObject(applied)})`, () =>
        validateValue(jsonOf(applied), schema),
      );
      wrapFault(`failed to create typed live object (${describeObject(bareLive ?? applied)})`, () =>
        validateValue(before, schema, { allowDuplicates: true }),
      );

      const applyOnce = (forced: boolean) =>
        updaterFor(subresource).apply({
          live: before,
          applied: jsonOf(applied),
          owners: managed.owners,
          manager: id,
          apiVersion,
          force: forced,
        });
      const applyFirst = () => {
        try {
          return applyOnce(force);
        } catch (error) {
          if (!(error instanceof MergeConflictError) || bareLive === undefined) throw error;
          throwUnlessAllowed(error, manager, () => fieldsLastApplied(bareLive, schema, apiVersion));
          return applyOnce(true);
        }
      };
      const result = wrapFault("failed to merge config", applyFirst);

      const owners = new Map(result.owners);
      const own = owners.get(id);
      if (own !== undefined) {
        const set = withoutUntracked(own.set);
        if (isEmptyFieldSet(set)) owners.delete(id);
        else owners.set(id, { ...own, set });
      }
      // An apply that changes nothing leaves the time as it was: absent, for a new owner.
      const times = result.object === undefined ? managed.times : new Map(managed.times).set(id, now);
      const merged = result.object === undefined ? (bareLive ?? applied) : (result.object as KubeObject); // both merged values were objects
      const annotated =
        manager === LAST_APPLIED_MANAGER ? withLastApplied(merged, applied, schema, fieldSetOf(...untracked)) : merged;
      return withManagedFields(annotated, codec.encode({ owners, times }));
    },
  };
}

const jsonOf = (object: KubeObject): JsonValue => object as JsonValue; // a KubeObject is JSON, but for its named types

function checkApplied(applied: KubeObject, apiVersion: string): void {
  if (applied.apiVersion !== apiVersion) {
    throw badRequestError(
      `Incorrect version specified in apply patch. Specified patch version: ${applied.apiVersion}, expected: ${apiVersion}`,
    );
  }
  if ((rawManagedFields(applied) ?? null) !== null) throw badRequestError("metadata.managedFields must be nil");
}

/** Passes on a conflict unless kubectl applied all of its fields itself before, on the client's side. */
function throwUnlessAllowed(conflict: MergeConflictError, manager: string, allowed: () => FieldSet): void {
  if (manager !== LAST_APPLIED_MANAGER) throw conflict;
  const own = allowed();
  const left = conflict.conflicts.filter(({ path }) => !hasPath(own, path));
  if (left.length > 0) throw isEmptyFieldSet(own) ? conflict : new MergeConflictError(left);
}

/** The fault of `step` as clients see it: a conflict as 409, anything else about the data as 500. */
function wrapFault<T>(what: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (error instanceof MergeConflictError) throw applyConflictError(error);
    if (error instanceof Error) throw untypedError(`${what}: ${error.message}`, error);
    throw error;
  }
}

/** `p-default/c1; management.postern/v1, Kind=OwnedAccessKey`, with nothing before the slash for cluster-wide objects. */
function describeObject({ apiVersion, kind, metadata }: KubeObject): string {
  const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: apiVersion };
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}; ${group}/${version}, Kind=${kind}`;
}
