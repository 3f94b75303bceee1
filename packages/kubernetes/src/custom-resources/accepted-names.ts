// The accepted names of a CustomResourceDefinition: each name belongs to one resource of a group.
// Source: k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go

import type { CustomResourceNames } from "./custom-resource-definition.ts";

export type NameConflict = { readonly reason: string; readonly message: string };

export type NameDecision = {
  readonly accepted: CustomResourceNames;
  /** The last conflict; undefined if all names are free. */
  readonly conflict: NameConflict | undefined;
};

/** `others` are the names of the group's other resources; `before` are those that the definition has already. */
export function decideNames(
  requested: CustomResourceNames,
  before: CustomResourceNames | undefined,
  others: readonly CustomResourceNames[],
): NameDecision {
  const resources = new Set(
    others.flatMap(({ plural, singular = "", shortNames = [] }) => [plural, singular, ...shortNames]),
  );
  const kinds = new Set(others.flatMap(({ kind, listKind = "" }) => [kind, listKind]));
  resources.delete("");
  kinds.delete("");
  let conflict: NameConflict | undefined;
  const isFree = (taken: ReadonlySet<string>, name: string, reason: string): boolean => {
    if (!taken.has(name)) return true;
    conflict = { reason, message: `${JSON.stringify(name)} is already in use` };
    return false;
  };
  const { plural, singular, shortNames, kind, listKind, categories } = requested;
  const accepted = {
    plural: isFree(resources, plural, "PluralConflict") ? plural : (before?.plural ?? ""),
    ...member("singular", isFree(resources, singular ?? "", "SingularConflict") ? singular : before?.singular),
    ...member(
      "shortNames",
      (shortNames ?? []).every((name) => isFree(resources, name, "ShortNamesConflict"))
        ? shortNames
        : before?.shortNames,
    ),
    kind: isFree(kinds, kind, "KindConflict") ? kind : (before?.kind ?? ""),
    ...member("listKind", isFree(kinds, listKind ?? "", "ListKindConflict") ? listKind : before?.listKind),
    ...member("categories", categories),
  };
  return { accepted, conflict };
}

const member = <K extends string, V>(name: K, value: V | undefined): { readonly [key in K]?: V } =>
  // An object of one computed member has no narrower type.
  (value === undefined ? {} : { [name]: value }) as { readonly [key in K]?: V };
