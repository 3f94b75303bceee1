// Reads and writes field sets in FieldsV1, the form in which an object carries them.
// Source: sigs.k8s.io/structured-merge-diff/fieldpath/serialize.go

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import {
  addField,
  addMember,
  draftFieldSet,
  type FieldSet,
  type FieldSetDraft,
  isEmptyFieldSet,
  withLastResult,
} from "./field-set.ts";
import { MAX_PATH_LENGTH, PathElementError, parsePathElement, sortPathElements } from "./path-element.ts";

/** Name of the member that says: the field itself belongs to the set, beside the fields below it. */
const SELF = ".";

/**
 * Elements of a kind that this version does not know are left out.
 * @throws PathElementError when the value is no field set.
 */
export function parseFieldsV1(fields: JsonValue | undefined): FieldSet {
  return readNode(fields ?? null, 0).set;
}

function readNode(fields: JsonValue, depth: number): { readonly set: FieldSetDraft; readonly isMember: boolean } {
  const set = draftFieldSet();
  if (fields === null) return { set, isMember: true };
  if (!isJsonObject(fields) || depth > MAX_PATH_LENGTH) throw new PathElementError("a field set must be a JSON object");
  let isMember = false;
  let last: { readonly leaves: readonly string[]; readonly child: ReturnType<typeof readNode> } | undefined;
  for (const name of Object.keys(fields)) {
    if (name === SELF) {
      isMember = true;
      continue;
    }
    const element = parsePathElement(name);
    if (element === undefined) continue;
    const below = fields[name] ?? null;
    if (isLeaf(below)) {
      addMember(set, element);
      continue;
    }
    // The items of a long list mostly have the same fields.
    const isLikeLast = last !== undefined && hasLeaves(below, last.leaves);
    const child = last !== undefined && isLikeLast ? last.child : readNode(below, depth + 1);
    if (!isLikeLast) {
      const names = Object.keys(below ?? {});
      last = hasLeaves(below, names) ? { leaves: names, child } : undefined;
    }
    addField(set, element, child.isMember, child.set);
  }
  return { set, isMember: isMember || isEmptyFieldSet(set) };
}

/** Most nodes are leaves, and need no set of their own. */
function isLeaf(below: JsonValue): boolean {
  if (!isJsonObject(below)) return false;
  for (const _ in below) return false;
  return true;
}

/** Whether these are its members, in this order, with nothing below them. */
function hasLeaves(fields: JsonValue, names: readonly string[]): boolean {
  if (!isJsonObject(fields)) return false;
  let count = 0;
  for (const name in fields) if (name !== names[count++] || !isLeaf(fields[name] ?? null)) return false;
  return count === names.length;
}

const LEAF: JsonObject = {};

/** The canonical FieldsV1 object: `{"f:spec":{".":{},"f:user":{}}}`, members in canonical order. */
export function toFieldsV1(set: FieldSet): JsonObject {
  return writeLevel(set, {});
}

function writeLevel(set: FieldSet, fields: { [name: string]: JsonObject }): JsonObject {
  const { members, children } = set;
  if (children.size === 0) {
    for (const element of sortPathElements(members)) fields[element] = LEAF;
    return fields;
  }
  const elements = members.size === 0 ? children.keys() : new Set([...members, ...children.keys()]);
  const write = withLastResult((child: FieldSet, isMember: boolean) =>
    writeLevel(child, isMember ? { [SELF]: LEAF } : {}),
  );
  for (const element of sortPathElements(elements)) {
    const child = children.get(element);
    fields[element] = child === undefined ? LEAF : write(child, members.has(element));
  }
  return fields;
}
