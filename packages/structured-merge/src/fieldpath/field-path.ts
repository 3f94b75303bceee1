// A path to one field of an object, from its root.
// Source: sigs.k8s.io/structured-merge-diff/fieldpath/path.go

import { fieldElement, formatPathElement, type PathElement } from "./path-element.ts";

export type FieldPath = readonly PathElement[];

/** Far longer than the paths of any schema: longer ones are refused, for the sake of the stack. */
export const MAX_PATH_LENGTH = 512;

/** A path that runs through members only: `fieldPath("metadata", "name")`. */
export const fieldPath = (...names: readonly string[]): FieldPath => names.map(fieldElement);

/** The path as messages print it: `.spec.scope.projects[project="p1"].note`. */
export const formatFieldPath = (path: FieldPath): string => path.map(formatPathElement).join("");
