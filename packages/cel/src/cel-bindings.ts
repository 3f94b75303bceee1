// The types bound to the type variables of one expression, and which types are assignable to others.
// Source: github.com/google/cel-go/checker/types.go (isAssignable, mostGeneral)

import type { CelType } from "./cel-type.ts";

export type CelBindings = {
  readonly types: Map<number, CelType>;
  /** The variables that the assignment in progress has bound, and their types before. */
  readonly changes: (readonly [id: number, before: CelType | undefined])[];
  next: number;
};

export const createCelBindings = (): CelBindings => ({ types: new Map(), changes: [], next: 0 });

export const DYN: CelType = { kind: "dyn" };

export function freshVariable(bindings: CelBindings): CelType {
  bindings.next++;
  return { kind: "variable", id: bindings.next };
}

/** Replaces the type parameters of a signature by fresh variables. */
export function instantiate(types: readonly CelType[], bindings: CelBindings): readonly CelType[] {
  const variables = new Map<string, CelType>();
  const replace = (type: CelType): CelType => {
    switch (type.kind) {
      case "parameter": {
        const variable = variables.get(type.name) ?? freshVariable(bindings);
        variables.set(type.name, variable);
        return variable;
      }
      case "list":
      case "optional":
      case "type":
        return { ...type, of: replace(type.of) };
      case "map":
        return { ...type, key: replace(type.key), value: replace(type.value) };
      default:
        return type;
    }
  };
  return types.map(replace);
}

/** Follows the bindings of a variable to its type, or to an unbound variable. Parts of the type may be variables. */
export function resolve(type: CelType, bindings: CelBindings): CelType {
  let current = type;
  while (current.kind === "variable") {
    const bound = bindings.types.get(current.id);
    if (bound === undefined) return current;
    current = bound;
  }
  return current;
}

/** When all are bound: variables that lead through others, as in a long chain of calls, lead to their types at once. */
export function shorten(bindings: CelBindings): void {
  const { types } = bindings;
  for (const type of [...types.values()]) {
    const end = resolve(type, bindings);
    for (let at = type; at.kind === "variable" && at !== end; ) {
      const next = types.get(at.id) ?? end;
      types.set(at.id, end);
      at = next;
    }
  }
}

/** Replaces all variables by their types; unbound ones become `dyn`. */
export const settle = (type: CelType, bindings: CelBindings): CelType => replaced(type, bindings, DYN);

/** Replaces bound variables by their types. Without it, the types of a long chain of calls would lead through those of all calls before. */
export const substitute = (type: CelType, bindings: CelBindings): CelType => replaced(type, bindings, undefined);

/** `unbound`: the type of unbound variables. Undefined: they stay. */
function replaced(type: CelType, bindings: CelBindings, unbound: CelType | undefined): CelType {
  const current = resolve(type, bindings);
  switch (current.kind) {
    case "variable":
      return unbound ?? current;
    case "list":
    case "optional":
    case "type":
      return { ...current, of: replaced(current.of, bindings, unbound) };
    case "map": {
      const { key, value } = current;
      return { ...current, key: replaced(key, bindings, unbound), value: replaced(value, bindings, unbound) };
    }
    default:
      return current;
  }
}

const NULLABLE = new Set<CelType["kind"]>(["null", "object", "timestamp", "duration", "extension", "optional"]);

/** Binds variables so that every type of `from` is assignable to that of `to`. If one is not, no binding stays. */
export function assign(from: readonly CelType[], to: readonly CelType[], bindings: CelBindings): boolean {
  const { types, changes } = bindings;
  changes.length = 0;
  if (from.every((type, index) => fits(type, to[index] ?? DYN, bindings))) return true;
  for (const [id, before] of changes.toReversed()) {
    if (before === undefined) types.delete(id);
    else types.set(id, before);
  }
  return false;
}

function setType({ types, changes }: CelBindings, id: number, type: CelType): void {
  changes.push([id, types.get(id)]);
  types.set(id, type);
}

/** A bound variable keeps the more general of two types that fit each other. */
function fits(from: CelType, to: CelType, bindings: CelBindings): boolean {
  if (to.kind === "variable") {
    const { fits: isBound, isKnown } = bind(to, from, bindings);
    if (isBound || isKnown) return isBound;
  }
  if (from.kind === "variable") return bind(from, to, bindings).fits;
  if (from.kind === "dyn" || to.kind === "dyn") return true;
  if (from.kind === "null") return NULLABLE.has(to.kind);
  if (to.kind === "null") return NULLABLE.has(from.kind);
  if (from.kind === "type") return to.kind === "type";
  if ((from.kind === "list" && to.kind === "list") || (from.kind === "optional" && to.kind === "optional")) {
    return fits(from.of, to.of, bindings);
  }
  if (from.kind === "map" && to.kind === "map") {
    return fits(from.key, to.key, bindings) && fits(from.value, to.value, bindings);
  }
  return isSameType(from, to);
}

type Variable = Extract<CelType, { readonly kind: "variable" }>;

/** `isKnown`: the variable has a type, which the other one does not fit. */
function bind(
  variable: Variable,
  type: CelType,
  bindings: CelBindings,
): { readonly fits: boolean; readonly isKnown: boolean } {
  if (isSameType(type, variable)) return { fits: true, isKnown: true };
  const known = bindings.types.get(variable.id);
  if (known === undefined) {
    const isFree = !mentions(type, variable.id, bindings);
    if (isFree) setType(bindings, variable.id, type);
    return { fits: isFree, isKnown: false };
  }
  if (isSameType(type, known)) return { fits: true, isKnown: true };
  if (!fits(type, known, bindings)) return { fits: false, isKnown: true };
  const general = moreGeneral(type, known);
  if (!mentions(general, variable.id, bindings)) setType(bindings, variable.id, general);
  return { fits: true, isKnown: true };
}

/** The more general of two types that fit each other. */
export const moreGeneral = (a: CelType, b: CelType): CelType => (isNoMoreSpecific(a, b) ? a : b);

const isOpen = ({ kind }: CelType): boolean => kind === "dyn" || kind === "variable";

function isNoMoreSpecific(a: CelType, b: CelType): boolean {
  if (isOpen(a)) return true;
  if (isOpen(b)) return false;
  if ((a.kind === "list" && b.kind === "list") || (a.kind === "optional" && b.kind === "optional")) {
    return isNoMoreSpecific(a.of, b.of);
  }
  if (a.kind === "map" && b.kind === "map") return isNoMoreSpecific(a.key, b.key) && isNoMoreSpecific(a.value, b.value);
  return a.kind === "type" ? b.kind === "type" : isSameType(a, b);
}

/** Whether two types are the same in all their parts. */
export function isSameType(a: CelType, b: CelType): boolean {
  if (a === b) return true;
  switch (a.kind) {
    case "list":
    case "optional":
    case "type":
      return b.kind === a.kind && isSameType(a.of, b.of);
    case "map":
      return b.kind === "map" && isSameType(a.key, b.key) && isSameType(a.value, b.value);
    case "object":
      return b.kind === "object" && a.fields === b.fields;
    case "extension":
    case "parameter":
      return b.kind === a.kind && a.name === b.name;
    case "variable":
      return b.kind === "variable" && a.id === b.id;
    default:
      return a.kind === b.kind;
  }
}

/** Whether a type contains the variable: bound to it, the variable would be a type without end. */
function mentions(type: CelType, id: number, bindings: CelBindings): boolean {
  switch (type.kind) {
    case "variable": {
      if (type.id === id) return true;
      const known = bindings.types.get(type.id);
      return known !== undefined && mentions(known, id, bindings);
    }
    case "list":
    case "optional":
    case "type":
      return mentions(type.of, id, bindings);
    case "map":
      return mentions(type.key, id, bindings) || mentions(type.value, id, bindings);
    default:
      return false;
  }
}
