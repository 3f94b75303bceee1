// The members of a strategic merge patch that are instructions rather than data.
// Source: k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, pkg/util/mergepatch/errors.go

import {
  getMember,
  isJsonArray,
  isJsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "../json/json-value.ts";

/** `replace` or `delete`, in an object or in an element of a list. */
export const PATCH_DIRECTIVE = "$patch";
/** Lists the only members that may stay. */
export const RETAIN_KEYS = "$retainKeys";
/** Followed by the name of the list whose order it gives. */
export const SET_ELEMENT_ORDER = "$setElementOrder/";
/** Followed by the name of the list of scalars that it removes from. */
export const DELETE_FROM_PRIMITIVE_LIST = "$deleteFromPrimitiveList/";

/** A patch that contradicts itself or the schema. The message may be shown to the client, with 400. */
export class StrategicMergePatchError extends Error {
  override readonly name = "StrategicMergePatchError";
}

export const isDirective = (name: string): boolean =>
  name === PATCH_DIRECTIVE ||
  name === RETAIN_KEYS ||
  name.startsWith(SET_ELEMENT_ORDER) ||
  name.startsWith(DELETE_FROM_PRIMITIVE_LIST);

/** The data of a patch where there is nothing to merge it with: no directives, no null members, nothing deleted. */
export function withoutDirectives(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.filter((item) => !isInstruction(item)).map(withoutDirectives);
  if (!isJsonObject(value)) return value;
  const data: MutableJsonObject = {};
  if (getMember(value, PATCH_DIRECTIVE) === "delete") return data;
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined && member !== null && !isDirective(name)) setMember(data, name, withoutDirectives(member));
  }
  return data;
}

/** An element that is there for its directive only. */
const isInstruction = (item: JsonValue): boolean =>
  isJsonObject(item) && getMember(item, PATCH_DIRECTIVE) !== undefined;
