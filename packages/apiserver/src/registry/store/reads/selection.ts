// Compiles the selectors of a list or watch into one predicate on cached objects.

import { type ApiError, badRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { CachedObject } from "../../../cache/cached-object.ts";
import { createMemberReader, type MemberSelection } from "../../../cache/read-members.ts";
import type { ResourceKeys } from "../../../cache/resource-keys.ts";
import { valueAtPath } from "../../field-path.ts";
import type { ResourceDefinition } from "../../resource-definition.ts";
import type { Selection } from "../../resource-storage.ts";
import type { StoreContext } from "../store-context.ts";

export type ObjectPredicate = (object: CachedObject) => boolean;

/** Undefined when everything is selected, so that the common case costs nothing. Throws 400 for an unknown field label. */
export function compileSelection(
  selection: Selection,
  { definition, keys, parsed }: Pick<StoreContext, "definition" | "keys" | "parsed">,
): ObjectPredicate | undefined {
  const tests: ObjectPredicate[] = [];
  const { labelSelector, fieldSelector, visible } = selection;
  if (fieldSelector !== undefined && !fieldSelector.empty) {
    const readField = fieldReader(
      { definition, keys, parsed },
      fieldSelector.requirements.map(({ field }) => field),
    );
    tests.push((object) => fieldSelector.matches(object, readField));
  }
  if (labelSelector !== undefined && !labelSelector.empty) tests.push((object) => labelSelector.matches(object.labels));
  if (visible !== undefined) tests.push(visible);
  if (tests.length === 0) return undefined;
  const [only] = tests;
  return tests.length === 1 ? only : (object) => tests.every((test) => test(object));
}

/**
 * The key of the one object that can be selected. Undefined where there may be others.
 * Source: k8s.io/apiserver/pkg/storage/selection_predicate.go (MatchesSingle)
 */
export function selectedKey(
  { fieldSelector, namespace }: Pick<Selection, "fieldSelector" | "namespace">,
  { namespaced }: Pick<ResourceDefinition, "namespaced">,
  keys: ResourceKeys,
): string | undefined {
  const name = fieldSelector?.requiresExactMatch("metadata.name");
  const isOne = name !== undefined && (namespace !== "" || !namespaced);
  return isOne ? keys.of(namespace, name) : undefined;
}

/** True when the selection can leave objects out, so that the number of remaining ones is unknown. */
export const isSelective = ({ labelSelector, fieldSelector, visible }: Selection): boolean =>
  labelSelector?.empty === false || fieldSelector?.empty === false || visible !== undefined;

/** Built-in kinds without fields of their own list the supported ones. */
const unknownFieldError = (field: string, hasOnlyCommonFields: boolean): ApiError =>
  badRequestError(
    hasOnlyCommonFields
      ? `${quoteGo(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      : `field label not supported: ${field}`,
  );

function fieldReader(
  { definition, keys, parsed }: Pick<StoreContext, "definition" | "keys" | "parsed">,
  fields: readonly string[],
) {
  const selectable = new Set(definition.selectableFields?.map((path) => path.replace(/^\./, "")));
  const isBuiltIn = definition.strategicMergePatch === true;
  const computed = new Map(Object.entries(definition.computedFields ?? {}));
  const hasOnlyCommonFields = isBuiltIn && selectable.size + computed.size === 0;
  for (const field of fields) {
    const known =
      field === "metadata.name" ||
      (field === "metadata.namespace" && (definition.namespaced || hasOnlyCommonFields)) ||
      selectable.has(field) ||
      computed.has(field);
    if (known) continue;
    const text = definition.unknownFieldText?.(field);
    if (text !== undefined) throw badRequestError(text);
    throw unknownFieldError(field, hasOnlyCommonFields);
  }
  const readers = new Map(fields.map((field) => [field, readerOf(field, computed.get(field))]));
  return (object: CachedObject, field: string): string => {
    if (field === "metadata.name") return keys.parse(object.key).name;
    if (field === "metadata.namespace") return keys.parse(object.key).namespace;
    return parsed.fields.of(object, field, () => readers.get(field)?.(object) ?? "");
  };
}

type FieldText = (object: CachedObject) => string;

function readerOf(field: string, compute: ((object: KubeObject) => string) | undefined): FieldText {
  if (compute !== undefined) return (object) => compute(object.decode());
  const path = field.split(".");
  // Only these members of a large object are parsed.
  const read = createMemberReader(selectionOf(path));
  return (object) => {
    const value = valueAtPath(object.read(read), path);
    return value === undefined || value === null ? "" : String(value);
  };
}

const selectionOf = ([member = "", ...below]: readonly string[]): MemberSelection => ({
  [member]: below.length === 0 ? true : selectionOf(below),
});
