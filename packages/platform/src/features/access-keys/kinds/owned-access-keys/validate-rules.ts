// Validates the deprecated rules of an access key.

import type { accessKeyRule } from "@postern/api/access-key-scope";
import type { Infer } from "@postern/apimachinery/schema/builder";
import {
  childPath,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
} from "@postern/apimachinery/validation/field-error";

type Rule = Infer<typeof accessKeyRule>;
type ResourceEntry = NonNullable<Rule["resources"]>[number];

export const validateRules = (rules: readonly Rule[], path: string): readonly FieldError[] =>
  rules.flatMap((rule, index) => validateRule(rule, indexPath(path, index)));

const validateRule = ({ resources = [], nonResourceURLs = [] }: Rule, path: string): readonly FieldError[] => [
  ...resources.flatMap((entry, index) => validateResources(entry, indexPath(childPath(path, "resources"), index))),
  ...nonResourceURLs.flatMap((url, index) => validatePath(url, indexPath(childPath(path, "nonResourceURLs"), index))),
];

function validateResources({ resources = [], resourceNames = [] }: ResourceEntry, path: string): readonly FieldError[] {
  const names = childPath(path, "resources");
  return [
    ...(resources.length === 0 && resourceNames.length > 0
      ? [forbiddenError(childPath(path, "resourceNames"), "requires at least one resource to be specified")]
      : []),
    ...resources.flatMap((name, index) => validateResource(name, indexPath(names, index))),
    ...findOverlaps(resources).map((index) =>
      invalidError(
        indexPath(names, index),
        resources[index] ?? "",
        "is covered by another entry, they must not overlap",
      ),
    ),
  ];
}

// `pods`, `pods/log`, `*`, `pods/*`, `*/scale`: each part is a name or a wildcard.
function validateResource(name: string, path: string): readonly FieldError[] {
  const parts = name.split("/");
  const isWhole = (part: string): boolean => part !== "" && (part === "*" || !part.includes("*"));
  if (parts.length > 2 || !parts.every(isWhole)) {
    return [invalidError(path, name, "must be a resource, a resource/subresource, or have * for either part")];
  }
  return [];
}

/** The indices of entries that an entry with a wildcard, or an equal earlier one, takes in as well. */
function findOverlaps(resources: readonly string[]): readonly number[] {
  const first = new Map(resources.map((name, index) => [name, index] as const).reverse());
  return [...resources.keys()].filter((index) => {
    const name = resources[index] ?? "";
    return first.get(name) !== index || coveringNames(name).some((other) => other !== name && first.has(other));
  });
}

/** The entries with a wildcard that take a name in. A lone * takes in every resource with its subresources. */
function coveringNames(name: string): readonly string[] {
  const [resource = "", subresource] = name.split("/", 2);
  return ["*", "*/*", ...(subresource === undefined ? [] : [`*/${subresource}`, `${resource}/*`])];
}

/** A wildcard only as the full, final step. */
function validatePath(url: string, path: string): readonly FieldError[] {
  if (url === "*") return [];
  if (!url.startsWith("/")) return [invalidError(path, url, "must begin with a slash")];
  const fixed = url.endsWith("/*") ? url.slice(0, -1) : url;
  return fixed.includes("*") ? [invalidError(path, url, "* is allowed only as the whole last step of the path")] : [];
}
