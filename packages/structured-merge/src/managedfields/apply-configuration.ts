// Carries out server-side apply.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go (Apply), skipnonapplied.go, lastappliedmanager.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { ApiError, badRequestError, untypedError } from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { oneStep, type Steps } from "@postern/apimachinery/steps/steps";
import { isEmptyFieldSet } from "../fieldpath/field-set.ts";
import { MAX_PATH_LENGTH } from "../fieldpath/path-element.ts";
import { TypedValueError } from "../typed/typed-value-error.ts";
import { validateValue } from "../typed/validate-value.ts";
import { applyConflictError } from "./apply-conflict-error.ts";
import type { FieldManagerApply, FieldManagerCore } from "./field-manager-core.ts";
import { fieldsLastApplied, LAST_APPLIED_MANAGER, withLastApplied } from "./last-applied.ts";
import {
  decodeStoredManagedFields,
  encodeManagedFields,
  isManagedFieldsError,
  type Managed,
  NOTHING_MANAGED,
} from "./managed-fields-codec.ts";
import { UNKNOWN_MANAGER } from "./manager-from-user-agent.ts";
import { MergeConflictError } from "./merge-conflict-error.ts";
import { type ApplyInput, type ApplyResult, withSet } from "./merge-updater.ts";
import { jsonOf, rawManagedFields, withManagedFields, withoutManagedFields } from "./object-managed-fields.ts";
import { formatOwnerId } from "./owner-id.ts";
import { withoutUntracked } from "./untracked-fields.ts";
import { trackUpdate } from "./update-managed-fields.ts";

/** Owns what was there before an object's fields were tracked. */
const BEFORE_FIRST_APPLY = "before-first-apply";

export function* applyConfiguration(core: FieldManagerCore, input: FieldManagerApply): Steps<KubeObject> {
  const { live, applied, manager, subresource = "", force = false, now } = input;
  checkApplied(applied, core.apiVersion);
  const bareLive = live === undefined ? undefined : withoutManagedFields(live);
  const before: JsonValue = bareLive === undefined ? {} : jsonOf(bareLive);
  const managed = live === undefined ? NOTHING_MANAGED : yield* managedBefore(core, input, live, before);
  yield* checkTyped(core, input, before);

  const id = formatOwnerId({ manager: manager || UNKNOWN_MANAGER, operation: "Apply", subresource });
  const { object, owners } = yield* merge(core, input, {
    live: before,
    applied: jsonOf(applied),
    owners: managed.owners,
    manager: id,
    apiVersion: core.apiVersion,
    force,
  });
  yield;
  // An apply that changes nothing leaves its time as it was: absent, for a new owner.
  const times = object === undefined ? managed.times : new Map(managed.times).set(id, now);
  const written = object === undefined ? (bareLive ?? applied) : (object as KubeObject); // merged from two KubeObjects
  const annotated =
    manager === LAST_APPLIED_MANAGER ? withLastApplied(written, applied, core.schema, core.untracked) : written;
  return withManagedFields(annotated, yield* encodeManagedFields({ owners: withoutUntrackedOf(id, owners), times }));
}

function checkApplied(applied: KubeObject, apiVersion: string): void {
  if (applied.apiVersion !== apiVersion) {
    throw badRequestError(
      `Incorrect version specified in apply patch. Specified patch version: ${applied.apiVersion}, expected: ${apiVersion}`,
    );
  }
  if ((rawManagedFields(applied) ?? null) !== null) throw badRequestError("metadata.managedFields must be nil");
}

/** Without recorded managers, all fields belong to `before-first-apply`, so that an apply can conflict. */
function* managedBefore(
  core: FieldManagerCore,
  input: FieldManagerApply,
  live: KubeObject,
  after: JsonValue,
): Steps<Managed> {
  const { subresource = "", now } = input;
  const managed = yield* withFault("failed to decode managed fields", () =>
    decodeStoredManagedFields(rawManagedFields(live)),
  );
  if (managed.owners.size > 0) return managed;
  return yield* withFault("failed to create manager for existing fields", () =>
    trackUpdate(core, { before: {}, after, managed, manager: BEFORE_FIRST_APPLY, subresource, now }),
  );
}

function* checkTyped(
  { schema }: FieldManagerCore,
  { live, applied }: FieldManagerApply,
  before: JsonValue,
): Steps<void> {
  yield* withFault(`failed to create typed patch object (${describeObject(applied)})`, () =>
    oneStep(() => validateValue(jsonOf(applied), schema)),
  );
  yield* withFault(`failed to create typed live object (${describeObject(live ?? applied)})`, () =>
    oneStep(() => validateValue(before, schema, { allowDuplicates: true })),
  );
}

/** @throws ApiError 409 for conflicts. */
function* merge(core: FieldManagerCore, input: FieldManagerApply, apply: ApplyInput): Steps<ApplyResult> {
  const updater = core.updaterFor(input.subresource ?? "");
  try {
    return yield* withFault("failed to merge config", () => updater.applyInSteps(apply));
  } catch (error) {
    if (!(error instanceof MergeConflictError)) throw error;
    const conflict = conflictBeyondLastApplied(core, input, error);
    if (conflict !== undefined) throw applyConflictError(conflict);
    yield;
    return yield* updater.applyInSteps({ ...apply, force: true });
  }
}

/** Rest of a conflict without the fields that kubectl itself applied on the client's side, if there is one. */
function conflictBeyondLastApplied(
  { schema, apiVersion }: FieldManagerCore,
  { live, manager }: FieldManagerApply,
  conflict: MergeConflictError,
): MergeConflictError | undefined {
  if (manager !== LAST_APPLIED_MANAGER || live === undefined) return conflict;
  const allowed = fieldsLastApplied(withoutManagedFields(live), schema, apiVersion);
  return isEmptyFieldSet(allowed) ? conflict : conflict.without(allowed);
}

function withoutUntrackedOf(id: string, owners: ApplyResult["owners"]): ApplyResult["owners"] {
  const own = owners.get(id);
  if (own === undefined) return owners;
  const set = withoutUntracked(own.set);
  const kept = new Map(owners);
  if (isEmptyFieldSet(set)) kept.delete(id);
  else kept.set(id, withSet(own, set));
  return kept;
}

/** A fault of the client, unlike those below; upstream has no such limit. */
const tooDeepError = (what: string, cause: Error): ApiError =>
  new ApiError({
    code: 422,
    reason: "Invalid",
    message: `${what}: an object that is applied, or applied to, may nest ${MAX_PATH_LENGTH} levels deep`,
    cause,
  });

/** Faults of the data become a 500 that names them, which is what upstream answers an apply with. */
function* withFault<T>(what: string, steps: () => Steps<T>): Steps<T> {
  try {
    return yield* steps();
  } catch (error) {
    if (error instanceof TypedValueError && error.isTooDeep) throw tooDeepError(what, error);
    if (isDataFault(error)) throw untypedError(`${what}: ${error.message}`, error);
    throw error;
  }
}

const isDataFault = (error: unknown): error is Error => error instanceof TypedValueError || isManagedFieldsError(error);

/** `p-default/c1; management.postern/v1, Kind=OwnedAccessKey`, with nothing before the slash for cluster-wide objects. */
function describeObject({ apiVersion, kind, metadata }: KubeObject): string {
  const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: apiVersion };
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}; ${group}/${version}, Kind=${kind}`;
}
