// Brings a stored field set in line with a schema in which a field turned from atomic to granular, or back.
// Source: sigs.k8s.io/structured-merge-diff/typed/reconcile_schema.go

import {
  EMPTY_FIELD_SET,
  type FieldSet,
  fieldSetOf,
  prefixed,
  recursiveDifference,
  subsetAt,
  union,
} from "../fieldpath/field-set.ts";
import { fieldNameOf, type PathElement } from "../fieldpath/path-element.ts";
import type { JsonValue } from "../json/json-value.ts";
import { toFieldSet } from "./to-field-set.ts";
import { ATOMIC, type ListSchema, type MapSchema, memberSchema, type TypedSchema } from "./typed-schema.ts";
import { createFaultLog, type FaultLog, UNDECLARED_FIELD } from "./typed-value-error.ts";

type Walk = {
  readonly path: PathElement[];
  readonly log: FaultLog;
  /** The field set of the whole live value, made at most once. */
  readonly liveSet: () => FieldSet;
  remove: FieldSet;
  add: FieldSet;
};

/**
 * The set itself when it already fits.
 * @throws TypedValueError when the set names a field that the schema does not have.
 */
export function reconcileFieldSet(set: FieldSet, live: JsonValue, schema: TypedSchema): FieldSet {
  let liveSet: FieldSet | undefined;
  const walk: Walk = {
    path: [],
    log: createFaultLog(),
    liveSet: () => {
      liveSet ??= toFieldSet(live, schema);
      return liveSet;
    },
    remove: EMPTY_FIELD_SET,
    add: EMPTY_FIELD_SET,
  };
  visit(walk, set, schema, false);
  walk.log.throwIfAny();
  return union(recursiveDifference(set, walk.remove), walk.add);
}

/** `isAtomic`: the set owns this field as a whole and nothing below it. */
function visit(walk: Walk, set: FieldSet | undefined, schema: TypedSchema, isAtomic: boolean): void {
  if (schema.map !== undefined) visitMap(walk, set, schema.map, isAtomic);
  else if (schema.scalar === undefined && schema.list !== undefined) visitList(walk, set, schema.list, isAtomic);
}

function visitMap(walk: Walk, set: FieldSet | undefined, map: MapSchema, isAtomic: boolean): void {
  if (isDeduced(map)) return;
  if (map.relationship === "atomic") {
    if (!isAtomic && set !== undefined) ownAsWhole(walk);
    return;
  }
  if (isAtomic) ownGranularly(walk);
  if (set === undefined) return;
  visitChildren(walk, set, (element) => {
    const name = fieldNameOf(element);
    return name === undefined ? map.element : memberSchema(map, name);
  });
}

/** Deduced values change their form with every value, so that there is nothing to bring in line. */
const isDeduced = ({ fields, element }: MapSchema): boolean =>
  fields.size === 0 && element !== ATOMIC && element?.scalar === "untyped";

function visitList(walk: Walk, set: FieldSet | undefined, list: ListSchema, isAtomic: boolean): void {
  if (list.relationship === "atomic") {
    if (!isAtomic) ownAsWhole(walk);
    return;
  }
  if (isAtomic) ownGranularly(walk);
  if (set !== undefined) visitChildren(walk, set, () => list.element);
}

function visitChildren(walk: Walk, set: FieldSet, schemaOf: (element: PathElement) => TypedSchema | undefined): void {
  const visitChild = (element: PathElement, child: FieldSet | undefined): void => {
    walk.path.push(element);
    const schema = schemaOf(element);
    if (schema === undefined) walk.log.report(walk.path, UNDECLARED_FIELD);
    else visit(walk, child, schema, child === undefined);
    walk.path.pop();
  };
  for (const [element, child] of set.children) visitChild(element, child);
  for (const element of set.members) if (!set.children.has(element)) visitChild(element, undefined);
}

function ownAsWhole(walk: Walk): void {
  const whole = fieldSetOf([...walk.path]);
  walk.remove = union(walk.remove, whole);
  walk.add = union(walk.add, whole);
}

function ownGranularly(walk: Walk): void {
  const path = [...walk.path];
  const below = subsetAt(walk.liveSet(), path);
  walk.add = union(union(walk.add, fieldSetOf(path)), below === undefined ? EMPTY_FIELD_SET : prefixed(path, below));
}
