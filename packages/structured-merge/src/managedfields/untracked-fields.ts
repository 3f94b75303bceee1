// Fields without owners, for all kinds.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go

import { difference, type FieldSet, fieldSetOf, recursiveDifference } from "../fieldpath/field-set.ts";
import { type FieldPath, fieldPath } from "../fieldpath/path-element.ts";

const UNTRACKED = fieldSetOf(
  fieldPath("apiVersion"),
  fieldPath("kind"),
  fieldPath("metadata"),
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => fieldPath("metadata", name)),
);

/** The set without what names an object or is kept by the server itself. */
export const withoutUntracked = (set: FieldSet): FieldSet => difference(set, UNTRACKED);

/**
 * A write owns only fields that it persists: not status on the main resource, nor spec on `status`. Like upstream, custom resources own metadata that
 * was changed through `status`, although it is not persisted.
 * Source: k8s.io/apiserver/pkg/registry/rest/rest.go (ResetFieldsStrategy)
 */
export function trackedFields(deps: {
  /** Empty for the main resource. */
  readonly subresource: string;
  /** True when status is written through its own subresource. */
  readonly hasStatus: boolean;
  /** Never owned, with everything below. */
  readonly untracked: readonly FieldPath[];
}): (set: FieldSet) => FieldSet {
  const { subresource, hasStatus, untracked } = deps;
  const part = subresource === "status" ? "spec" : "status";
  const hasReset = subresource === "status" || (subresource === "" && hasStatus);
  const reset = fieldSetOf(...untracked, ...(hasReset ? [fieldPath(part)] : []));
  return (set) => recursiveDifference(set, reset);
}
