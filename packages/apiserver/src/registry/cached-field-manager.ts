// Caches the field ownership that results from a write, by the shape of the write: it depends on which fields exist, which have changed and who owned
// them, and not on their values. The field manager handles all other writes.

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject, ManagedFieldsEntry } from "@postern/apimachinery/meta/object-meta";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import type { FieldManager } from "@postern/structured-merge/managedfields/field-manager";
import type { FieldManagerUpdate } from "@postern/structured-merge/managedfields/field-manager-core";
import { compareEntries } from "@postern/structured-merge/managedfields/managed-fields-codec";
import {
  jsonOf,
  rawManagedFields,
  withoutManagedFields,
} from "@postern/structured-merge/managedfields/object-managed-fields";

const MAX_SHAPES = 256;
/** Longer ones are of objects with many fields, and seldom come again. */
const MAX_SHAPE_LENGTH = 4_096;
/** With more, the oldest are merged. */
const MAX_OWNERS = 9;

/** An entry without its time, which is that of the write or of the entry before it at an index. */
type RememberedEntry = {
  readonly entry: Omit<ManagedFieldsEntry, "time">;
  readonly timeOf: "now" | number;
};

/** `isPlain`: whether an object fits its schema, as far as one quick look tells. Otherwise values count as well. */
export function cachedFieldManager(manager: FieldManager, isPlain: (object: JsonValue) => boolean): FieldManager {
  /** The oldest first. */
  const known = new Map<string, readonly RememberedEntry[]>();

  function* updateInSteps(input: FieldManagerUpdate): Steps<KubeObject> {
    const shape = shapeOf(input, isPlain);
    if (shape === undefined) return yield* manager.updateInSteps(input);
    const remembered = known.get(shape);
    if (remembered !== undefined) return replayed(input, remembered);
    const result = yield* manager.updateInSteps(input);
    const entries = entriesToRemember(input, result);
    if (entries === undefined) return result;
    for (const oldest of known.keys()) {
      if (known.size < MAX_SHAPES) break;
      known.delete(oldest);
    }
    known.set(shape, entries);
    return result;
  }

  return { ...manager, update: (input) => runSteps(updateInSteps(input)), updateInSteps };
}

const entriesOf = (object: KubeObject | undefined): readonly ManagedFieldsEntry[] =>
  object?.metadata.managedFields ?? [];

function replayed({ live, next, now }: FieldManagerUpdate, remembered: readonly RememberedEntry[]): KubeObject {
  const before = entriesOf(live);
  const entries = remembered.map(({ entry, timeOf }): ManagedFieldsEntry => {
    const time = timeOf === "now" ? now : before[timeOf]?.time;
    return time === undefined ? entry : { ...entry, time };
  });
  return { ...next, metadata: { ...next.metadata, managedFields: entries.sort(compareEntries) } };
}

/** Undefined where one look at the result does not tell which entry has which time. */
function entriesToRemember({ live, now }: FieldManagerUpdate, result: KubeObject): RememberedEntry[] | undefined {
  const before = entriesOf(live);
  const after = entriesOf(result);
  if (after.length === 0) return undefined;
  const remembered: RememberedEntry[] = [];
  for (const { time, ...entry } of after) {
    const places = before.flatMap((one, at) => (isSameOwner(one, entry) ? [at] : []));
    const [at] = places;
    if (places.length > 1) return undefined;
    const timeBefore = at === undefined ? undefined : before[at]?.time;
    if (time === now && timeBefore !== now) remembered.push({ entry, timeOf: "now" });
    else if (at !== undefined && time === timeBefore && time !== now) remembered.push({ entry, timeOf: at });
    else return undefined;
  }
  return remembered;
}

const isSameOwner = (one: ManagedFieldsEntry, other: Omit<ManagedFieldsEntry, "time">): boolean =>
  one.manager === other.manager &&
  one.operation === other.operation &&
  one.apiVersion === other.apiVersion &&
  one.subresource === other.subresource;

/** Key from which the owners follow: the fields, and which of their values change. Undefined where the owners depend on more. */
function shapeOf(
  { live, next, manager, subresource = "" }: FieldManagerUpdate,
  isPlain: (object: JsonValue) => boolean,
): string | undefined {
  const head = JSON.stringify([manager, subresource]);
  const shape =
    live === undefined ? shapeOfFields(head, jsonOf(withoutManagedFields(next))) : shapeOfChange(head, live, next);
  // An object that does not fit its schema has no owners.
  if (shape === undefined || shape.length > MAX_SHAPE_LENGTH || !isPlain(jsonOf(next))) return undefined;
  return shape;
}

/** `before` with the fields of a new object. Undefined where it has lists: what is in them may be a field. */
function shapeOfFields(before: string, value: JsonValue | undefined): string | undefined {
  if (isJsonArray(value)) return value.length === 0 ? `${before}[]` : undefined;
  if (!isJsonObject(value)) return value === null ? undefined : `${before};`;
  let shape: string | undefined = `${before}{`;
  for (const name of Object.keys(value)) {
    if (value[name] === undefined) continue;
    shape = shapeOfFields(`${shape}${name.length}.${name}`, value[name]);
    if (shape === undefined || shape.length > MAX_SHAPE_LENGTH) return undefined;
  }
  return `${shape}}`;
}

function shapeOfChange(head: string, live: KubeObject, next: KubeObject): string | undefined {
  const owners = rawManagedFields(live);
  // A request that sends other managed fields wants them.
  if (!isJsonArray(owners) || owners.length === 0 || owners.length > MAX_OWNERS || owners !== rawManagedFields(next)) {
    return undefined;
  }
  let shape = head;
  for (const owner of owners) {
    if (!isJsonObject(owner)) return undefined;
    shape += owner["time"] === undefined ? "-" : "+";
    shape += JSON.stringify({ ...owner, time: undefined });
  }
  return shapeOfDifference(`${shape}/`, jsonOf(live), jsonOf(next));
}

/** `before` with the fields that have another value. Undefined where fields came or went, or one in a list changed. */
function shapeOfDifference(before: string, old: JsonValue, value: JsonValue): string | undefined {
  if (old === value) return before;
  if (!isJsonObject(old) || !isJsonObject(value)) return isOtherValue(old, value) ? `${before}!` : undefined;
  let shape: string | undefined = before;
  let members = 0;
  for (const name of Object.keys(value)) {
    const [was, is] = [memberOf(old, name), value[name]];
    if (is === undefined) continue;
    members++;
    if (was === is) continue;
    if (was === undefined) return undefined;
    shape = shapeOfDifference(`${shape}${name.length}.${name}{`, was, is);
    if (shape === undefined) return undefined;
    shape += "}";
  }
  for (const name of Object.keys(old)) if (old[name] !== undefined) members--;
  return members === 0 ? shape : undefined;
}

const memberOf = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Whether a value of the same type is another one, so that both fit the schema where one does. */
const isOtherValue = (old: JsonValue, value: JsonValue): boolean =>
  typeof old === typeof value &&
  (typeof old === "string" ||
    typeof old === "boolean" ||
    (typeof old === "number" && Number.isInteger(old) === Number.isInteger(value)));
