// A path to one field of an object, from its root.
// Source: sigs.k8s.io/structured-merge-diff/fieldpath/path.go

import { fieldElement, formatPathElement, type PathElement } from "./path-element.ts";

export type FieldPath = readonly PathElement[];

/** A path that runs through members only: `fieldPath("metadata", "name")`. */
export const fieldPath = (...names: readonly string[]): FieldPath => names.map(fieldElement);

/** The path as messages print it: `.spec.scope.projects[project="p1"].note`. */
export const formatFieldPath = (path: FieldPath): string => path.map(formatPathElement).join("");
