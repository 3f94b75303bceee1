// Checks a value against its typed schema.
// Source: sigs.k8s.io/structured-merge-diff/typed/validate.go

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import {
  fieldElement,
  formatPathElement,
  indexElement,
  MAX_PATH_LENGTH,
  type PathElement,
} from "../fieldpath/path-element.ts";
import { formatGoPlain } from "./format-go-value.ts";
import { listItemElement } from "./list-item-element.ts";
import { scalarError } from "./scalar-error.ts";
import { formOf, type ListSchema, type MapSchema, memberSchema, type TypedSchema } from "./typed-schema.ts";
import { createTypedErrorLog, TOO_DEEP, type TypedErrorLog, UNDECLARED_FIELD } from "./typed-value-error.ts";

export type ValidateOptions = {
  /** Stored lists may hold duplicates from before they were sets; applied ones may not. */
  readonly allowDuplicates?: boolean;
};

type Walk = {
  readonly path: PathElement[];
  readonly log: TypedErrorLog;
  readonly allowDuplicates: boolean;
};

/** @throws TypedValueError with every fault that was found. */
export function validateValue(value: JsonValue, schema: TypedSchema, options: ValidateOptions = {}): void {
  const walk: Walk = { path: [], log: createTypedErrorLog(), allowDuplicates: options.allowDuplicates ?? false };
  visit(walk, value, schema);
  walk.log.throwIfAny();
}

function visit(walk: Walk, value: JsonValue, schema: TypedSchema): void {
  const form = formOf(schema, value);
  if (typeof form === "string") {
    const fault = scalarError(form, value);
    if (fault !== undefined) walk.log.report(walk.path, fault);
  } else if (form.kind === "map") visitMap(walk, value, form);
  else visitList(walk, value, form);
}

function visitMap(walk: Walk, value: JsonValue, map: MapSchema): void {
  if (value === null) return;
  if (!isJsonObject(value)) {
    walk.log.report(walk.path, `expected map, got &{${formatGoPlain(value)}}`);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const element = fieldElement(name);
    const schema = memberSchema(map, name);
    if (schema === undefined) {
      // One fault of this kind is enough: upstream stops at the first as well.
      walk.log.report([...walk.path, element], UNDECLARED_FIELD);
      return;
    }
    visitBelow(walk, element, member, schema);
  }
}

function visitList(walk: Walk, value: JsonValue, list: ListSchema): void {
  if (value === null) return;
  if (!isJsonArray(value)) {
    walk.log.report(walk.path, `expected list, got &{${formatGoPlain(value)}}`);
    return;
  }
  if (list.relationship === "atomic") {
    for (const [index, item] of value.entries()) visitBelow(walk, indexElement(index), item, list.element);
    return;
  }
  const seen = new Set<PathElement>();
  for (const [index, item] of value.entries()) {
    const { element, fault } = listItemElement(list, item);
    if (element === undefined) {
      // Nothing below can be named without it.
      walk.log.report(walk.path, `element ${index}: ${fault}`);
      return;
    }
    if (seen.has(element) && !walk.allowDuplicates) {
      walk.log.report(walk.path, `duplicate entries for key ${formatPathElement(element)}`);
    }
    seen.add(element);
    visitBelow(walk, element, item, list.element);
  }
}

function visitBelow(walk: Walk, element: PathElement, value: JsonValue, schema: TypedSchema): void {
  walk.path.push(element);
  if (walk.path.length > MAX_PATH_LENGTH) walk.log.report(walk.path, TOO_DEEP);
  else visit(walk, value, schema);
  walk.path.pop();
}
