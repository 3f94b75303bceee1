// Checks metadata on create and on update, and restores what an update may not change.
// Source: k8s.io/apimachinery/pkg/api/validation/objectmeta.go, k8s.io/apiserver/pkg/registry/rest/update.go

import { equalJson } from "../json/equal-json.ts";
import type { JsonValue } from "../json/json-value.ts";
import type { ObjectMeta } from "../meta/object-meta.ts";
import { childPath, type FieldError, forbiddenError, invalidError, requiredError } from "./field-error.ts";
import { formatGoStrings, formatGoTime } from "./go-syntax.ts";
import { validateAnnotations, validateLabels } from "./labels.ts";
import { validateManagedFields } from "./managed-fields.ts";
import { type NameValidator, nameIsDNSLabel } from "./object-name.ts";
import { isQualifiedName } from "./string-validators.ts";
import { validateOwnerReferences } from "./validate-owner-references.ts";

export const FINALIZER_ORPHAN_DEPENDENTS = "orphan";
export const FINALIZER_DELETE_DEPENDENTS = "foregroundDeletion";

const IMMUTABLE = "field is immutable";
const ZERO_TIME = "0001-01-01T00:00:00Z";

export type ObjectMetaRules = {
  readonly requiresNamespace: boolean;
  readonly validateName: NameValidator;
  /** Usually `metadata`. */
  readonly path: string;
};

/** Faults of members that a new object and a change are both held to, by the member. */
export type MetaFaults = {
  readonly [member in "labels" | "annotations" | "ownerReferences" | "managedFields"]: readonly FieldError[];
};

export const metaFaultsOf = (meta: ObjectMeta, path: string): MetaFaults => ({
  labels: validateLabels(meta.labels, childPath(path, "labels")),
  annotations: validateAnnotations(meta.annotations, childPath(path, "annotations")),
  ownerReferences: validateOwnerReferences(meta.ownerReferences, childPath(path, "ownerReferences")),
  managedFields: validateManagedFields(meta.managedFields, childPath(path, "managedFields")),
});

/**
 * Faults of the metadata of an object that is about to be stored. A generated name must be filled in before. `faults` is what `metaFaultsOf`
 * finds in it.
 */
export function validateObjectMeta(
  meta: ObjectMeta,
  { requiresNamespace, validateName, path }: ObjectMetaRules,
  faults: MetaFaults = metaFaultsOf(meta, path),
): readonly FieldError[] {
  return [
    ...validateNames(meta, validateName, path),
    ...validateNamespace(meta.namespace ?? "", requiresNamespace, childPath(path, "namespace")),
    ...validateGeneration(meta.generation ?? 0, childPath(path, "generation")),
    ...faults.labels,
    ...faults.annotations,
    ...faults.ownerReferences,
    ...validateFinalizers(meta.finalizers, childPath(path, "finalizers")),
    ...faults.managedFields,
  ];
}

function validateNames({ name = "", generateName = "" }: ObjectMeta, validateName: NameValidator, path: string) {
  const errors: FieldError[] = [];
  if (generateName !== "") {
    const generateNamePath = childPath(path, "generateName");
    for (const fault of validateName(generateName, true))
      errors.push(invalidError(generateNamePath, generateName, fault));
  }
  const namePath = childPath(path, "name");
  if (name === "") return [...errors, requiredError(namePath, "name or generateName is required")];
  return [...errors, ...validateName(name, false).map((fault) => invalidError(namePath, name, fault))];
}

function validateNamespace(namespace: string, required: boolean, path: string): readonly FieldError[] {
  if (!required) return namespace === "" ? [] : [forbiddenError(path, "not allowed on this type")];
  if (namespace === "") return [requiredError(path)];
  return nameIsDNSLabel(namespace, false).map((fault) => invalidError(path, namespace, fault));
}

const validateGeneration = (generation: number, path: string): readonly FieldError[] =>
  generation < 0 ? [invalidError(path, generation, "must be greater than or equal to 0")] : [];

export function validateFinalizers(finalizers: readonly string[] | undefined, path: string): readonly FieldError[] {
  if (finalizers === undefined) return [];
  const errors = finalizers.flatMap((finalizer) =>
    isQualifiedName(finalizer).map((fault) => invalidError(path, finalizer, fault)),
  );
  if (!finalizers.includes(FINALIZER_ORPHAN_DEPENDENTS) || !finalizers.includes(FINALIZER_DELETE_DEPENDENTS)) {
    return errors;
  }
  const clash = `finalizer ${FINALIZER_ORPHAN_DEPENDENTS} and ${FINALIZER_DELETE_DEPENDENTS} cannot be both set`;
  return [...errors, invalidError(path, [...finalizers], clash)];
}

/**
 * Faults of changing `oldMeta` into `newMeta`, called with what `restoreImmutableMeta` gave.
 * `validateObjectMeta` is due as well: this one checks only what a change adds. `faults` is what `metaFaultsOf` finds in `newMeta`.
 */
export function validateObjectMetaUpdate(
  newMeta: ObjectMeta,
  oldMeta: ObjectMeta,
  path: string,
  faults: MetaFaults = metaFaultsOf(newMeta, path),
): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (isSet(oldMeta.deletionTimestamp)) {
    errors.push(...validateNoNewFinalizers(newMeta.finalizers, oldMeta.finalizers, childPath(path, "finalizers")));
  }
  if ((newMeta.resourceVersion ?? "") === "") {
    errors.push(invalidError(childPath(path, "resourceVersion"), "", "must be specified for an update"));
  }
  if ((newMeta.generation ?? 0) < (oldMeta.generation ?? 0)) {
    errors.push(invalidError(childPath(path, "generation"), newMeta.generation ?? 0, "must not be decremented"));
  }
  errors.push(
    ...validateImmutable(newMeta.name ?? "", oldMeta.name ?? "", childPath(path, "name")),
    ...validateImmutable(newMeta.namespace ?? "", oldMeta.namespace ?? "", childPath(path, "namespace")),
    ...validateImmutable(newMeta.uid ?? "", oldMeta.uid ?? "", childPath(path, "uid")),
    ...validateImmutableTime(
      newMeta.creationTimestamp ?? ZERO_TIME,
      oldMeta.creationTimestamp ?? ZERO_TIME,
      childPath(path, "creationTimestamp"),
    ),
    ...validateImmutableTime(
      newMeta.deletionTimestamp ?? null,
      oldMeta.deletionTimestamp ?? null,
      childPath(path, "deletionTimestamp"),
    ),
    ...validateImmutable(
      newMeta.deletionGracePeriodSeconds ?? null,
      oldMeta.deletionGracePeriodSeconds ?? null,
      childPath(path, "deletionGracePeriodSeconds"),
    ),
    ...faults.labels,
    ...faults.annotations,
    ...faults.ownerReferences,
    ...faults.managedFields,
  );
  return errors;
}

/** A terminating object can lose finalizers, but not gain any. */
export function validateNoNewFinalizers(
  newFinalizers: readonly string[] = [],
  oldFinalizers: readonly string[] = [],
  path: string,
): readonly FieldError[] {
  const known = new Set(oldFinalizers);
  const added = [...new Set(newFinalizers)].filter((finalizer) => !known.has(finalizer)).sort();
  if (added.length === 0) return [];
  const found = formatGoStrings(added);
  return [
    forbiddenError(
      path,
      `no new finalizers can be added if the object is being deleted, found new finalizers ${found}`,
    ),
  ];
}

/** One `field is immutable` error when the values differ. */
export const validateImmutable = (newValue: JsonValue, oldValue: JsonValue, path: string): readonly FieldError[] =>
  equalJson(newValue, oldValue) ? [] : [invalidError(path, newValue, IMMUTABLE)];

function validateImmutableTime(newTime: string | null, oldTime: string | null, path: string): readonly FieldError[] {
  if (newTime === oldTime) return [];
  return [invalidError(path, newTime, IMMUTABLE, newTime === null ? undefined : formatGoTime(newTime))];
}

/**
 * The new metadata with what clients cannot change put back: the uid when left out, the creation time always,
 * the deletion time once there is one, and the grace period when left out.
 */
export function restoreImmutableMeta(newMeta: ObjectMeta, oldMeta: ObjectMeta): ObjectMeta {
  const uid = (newMeta.uid ?? "") === "" ? oldMeta.uid : newMeta.uid;
  const creationTimestamp = isSet(oldMeta.creationTimestamp) ? oldMeta.creationTimestamp : newMeta.creationTimestamp;
  const deletionTimestamp = isSet(oldMeta.deletionTimestamp) ? oldMeta.deletionTimestamp : newMeta.deletionTimestamp;
  const gracePeriod = newMeta.deletionGracePeriodSeconds ?? oldMeta.deletionGracePeriodSeconds;
  const isRestored =
    newMeta.uid === uid &&
    newMeta.creationTimestamp === creationTimestamp &&
    newMeta.deletionTimestamp === deletionTimestamp &&
    newMeta.deletionGracePeriodSeconds === gracePeriod;
  if (isRestored) return newMeta;
  return {
    ...newMeta,
    ...(uid === undefined ? {} : { uid }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(gracePeriod === undefined ? {} : { deletionGracePeriodSeconds: gracePeriod }),
  };
}

const isSet = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined;
