// The fields that nobody owns, whatever the kind.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/stripmeta.go

import { fieldPath } from "../fieldpath/field-path.ts";
import { difference, type FieldSet, fieldSetOf } from "../fieldpath/field-set.ts";

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
