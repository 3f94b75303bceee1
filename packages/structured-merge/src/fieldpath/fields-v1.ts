// Reads and writes field sets in FieldsV1, the form in which an object carries them.
// Source: sigs.k8s.io/structured-merge-diff/fieldpath/serialize.go

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { MAX_PATH_LENGTH } from "./field-path.ts";
import { draftFieldSet, type FieldSet, type FieldSetDraft, isEmptyFieldSet } from "./field-set.ts";
import { PathElementError, parsePathElement, sortPathElements } from "./path-element.ts";

/** Member name that says: the field itself belongs to the set, and not only what is below it. */
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
  for (const name of Object.keys(fields)) {
    if (name === SELF) {
      isMember = true;
      continue;
    }
    const element = parsePathElement(name);
    if (element === undefined) continue;
    const below = fields[name] ?? null;
    if (isLeaf(below)) {
      set.members.add(element);
      continue;
    }
    const child = readNode(below, depth + 1);
    if (child.isMember) set.members.add(element);
    if (!isEmptyFieldSet(child.set)) set.children.set(element, child.set);
  }
  return { set, isMember: isMember || isEmptyFieldSet(set) };
}

/** Most nodes are leaves, and need no set of their own. */
function isLeaf(below: JsonValue): boolean {
  if (!isJsonObject(below)) return false;
  for (const _ in below) return false;
  return true;
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
  for (const element of sortPathElements(elements)) {
    const child = children.get(element);
    fields[element] = child === undefined ? LEAF : writeLevel(child, members.has(element) ? { [SELF]: LEAF } : {});
  }
  return fields;
}
