// The document that a JSON patch changes: values are found by path, and copied before they are changed.
// Source: github.com/evanphx/json-patch v4 patch.go (container, partialDoc, partialArray)

import {
  getMember,
  isJsonArray,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from "../json/json-value.ts";
import { quoteGo } from "../text/go-quote.ts";
import { JsonPatchError } from "./patch-errors.ts";

/** One member of an object or one element of an array, present or not. The methods throw JsonPatchError. */
export type PatchPlace = {
  /** The last segment of the path, unescaped. */
  readonly key: string;
  /** Undefined for an absent member; an absent element is an error. */
  readonly get: () => JsonValue | undefined;
  readonly set: (value: JsonValue) => void;
  /** Inserts into an array, sets in an object. */
  readonly add: (value: JsonValue) => void;
  readonly remove: () => void;
};

export type PatchTarget = {
  readonly document: () => JsonValue;
  readonly reset: (document: JsonObject | JsonArray) => void;
  /** The place that a path names; undefined when what should hold it is no object or array. */
  readonly find: (path: string) => PatchPlace | undefined;
  /** A copy of the value that later operations on the original do not reach. */
  readonly detach: (value: JsonValue) => JsonValue;
};

type Container = JsonObject | JsonArray;
type OwnContainer = MutableJsonObject | JsonValue[];

const ROOT = "";

/** @throws JsonPatchError when the document is a scalar */
export function createPatchTarget(document: JsonValue): PatchTarget {
  if (!isJsonObject(document) && !isJsonArray(document)) {
    throw new JsonPatchError(`json: cannot unmarshal ${typeof document} into Go value of type jsonpatch.partialDoc`);
  }
  // The root lives in a holder, so that every container is a child of one.
  const holder: MutableJsonObject = { [ROOT]: document };
  // Containers that this patch created and still owns: a long patch copies each container once, not once per operation.
  const own = new WeakSet<OwnContainer>([holder]);

  /** The child container, copied first if it is not ours yet; undefined if it is no container. */
  function openChild(parent: OwnContainer, key: string | number): OwnContainer | undefined {
    const child = Array.isArray(parent) ? parent[Number(key)] : getMember(parent, String(key));
    if (!isJsonObject(child) && !isJsonArray(child)) return undefined;
    const mine = asOwn(child);
    if (mine !== undefined) return mine;
    const copy: OwnContainer = isJsonArray(child) ? [...child] : { ...child };
    own.add(copy);
    if (Array.isArray(parent)) parent[Number(key)] = copy;
    else setMember(parent, String(key), copy);
    return copy;
  }

  function asOwn(container: Container): OwnContainer | undefined {
    // Only mutable containers are ever put into the set.
    const candidate = container as OwnContainer;
    return own.has(candidate) ? candidate : undefined;
  }

  return {
    document: () => getMember(holder, ROOT) ?? null,
    reset: (value) => setMember(holder, ROOT, value),
    find(path) {
      const segments = path.split("/");
      const last = segments.pop();
      if (last === undefined || segments.length === 0) return undefined;
      let container = openChild(holder, ROOT);
      for (const segment of segments.slice(1)) {
        if (container === undefined) return undefined;
        const key = unescapeSegment(segment);
        const step = Array.isArray(container) ? existingIndex(container, key) : key;
        container = typeof step === "object" ? undefined : openChild(container, step);
      }
      if (container === undefined) return undefined;
      const key = unescapeSegment(last);
      return Array.isArray(container) ? elementOf(container, key) : memberOf(container, key);
    },
    detach: cloneJson,
  };
}

/** Unescapes a segment of a JSON pointer: RFC 6901, section 4. */
export const unescapeSegment = (segment: string): string => segment.replaceAll("~1", "/").replaceAll("~0", "~");

function memberOf(object: MutableJsonObject, key: string): PatchPlace {
  const set = (value: JsonValue) => setMember(object, key, value);
  return {
    key,
    get: () => getMember(object, key),
    set,
    add: set,
    remove() {
      if (!Object.hasOwn(object, key)) {
        throw new JsonPatchError(`Unable to remove nonexistent key: ${key}: missing value`);
      }
      delete object[key];
    },
  };
}

function elementOf(array: JsonValue[], key: string): PatchPlace {
  const existing = (): number => {
    const index = existingIndex(array, key);
    if (typeof index === "object") throw index;
    return index;
  };
  return {
    key,
    get: () => array[existing()] ?? null,
    set(value) {
      array[existing()] = value;
    },
    add(value) {
      if (key === "-") array.push(value);
      else array.splice(insertionIndex(array, key), 0, value);
    },
    remove() {
      array.splice(existing(), 1);
    },
  };
}

/** The index that a segment names, or the fault. */
function existingIndex(array: readonly JsonValue[], key: string): number | JsonPatchError {
  const index = atoi(key);
  if (typeof index === "object") return index;
  const actual = index < 0 ? index + array.length : index;
  return actual >= 0 && actual < array.length ? actual : invalidIndex(index);
}

function insertionIndex(array: readonly JsonValue[], key: string): number {
  const index = atoi(key);
  if (typeof index === "object") {
    throw new JsonPatchError(`value was not a proper array index: '${key}': ${index.message}`);
  }
  // Counted in the array as it will be: -1 appends.
  const actual = index < 0 ? index + array.length + 1 : index;
  if (actual < 0 || actual > array.length) throw invalidIndex(index);
  return actual;
}

const invalidIndex = (index: number): JsonPatchError =>
  new JsonPatchError(`Unable to access invalid index: ${index}: invalid index referenced`);

function atoi(text: string): number | JsonPatchError {
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  return new JsonPatchError(`strconv.Atoi: parsing ${quoteGo(text)}: invalid syntax`);
}

function cloneJson(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(cloneJson);
  if (!isJsonObject(value)) return value;
  const copy: MutableJsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) setMember(copy, name, cloneJson(member));
  }
  return copy;
}
