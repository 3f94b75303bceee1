// Which fields a write through the main resource or a subresource may own.
// Source: k8s.io/apiserver/pkg/registry/rest/rest.go (ResetFieldsStrategy)

import { type FieldPath, fieldPath } from "../fieldpath/field-path.ts";
import { type FieldSet, fieldSetOf, recursiveDifference, recursiveIntersection } from "../fieldpath/field-set.ts";

const STATUS = fieldSetOf(fieldPath("status"));

export type TrackedFieldsOptions = {
  /** Empty for the main resource. */
  readonly subresource: string;
  /** True when status is written through its own subresource. */
  readonly hasStatus: boolean;
  /** Never owned by anybody, with everything below. */
  readonly untracked: readonly FieldPath[];
};

/** What a write does not persist it must not own: status on the main resource, and all but status on `status`. */
export function trackedFields({
  subresource,
  hasStatus,
  untracked,
}: TrackedFieldsOptions): (set: FieldSet) => FieldSet {
  const never = fieldSetOf(...untracked);
  if (subresource === "status") return (set) => recursiveDifference(recursiveIntersection(set, STATUS), never);
  const reset = subresource === "" && hasStatus ? fieldSetOf(...untracked, fieldPath("status")) : never;
  return (set) => recursiveDifference(set, reset);
}
