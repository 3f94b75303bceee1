// The types bound to the type variables of one expression, and which types are assignable to others.
// Source: github.com/google/cel-go/checker/types.go (isAssignable)

import type { CelType } from "./cel-type.ts";

export type CelBindings = { readonly types: Map<number, CelType>; next: number };

export const createCelBindings = (): CelBindings => ({ types: new Map(), next: 0 });

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

/** Replaces all variables by their types; unbound ones become `dyn`. */
export function settle(type: CelType, bindings: CelBindings): CelType {
  const current = resolve(type, bindings);
  switch (current.kind) {
    case "variable":
      return DYN;
    case "list":
    case "optional":
      return { ...current, of: settle(current.of, bindings) };
    case "map":
      return { ...current, key: settle(current.key, bindings), value: settle(current.value, bindings) };
    default:
      return current;
  }
}

const NULLABLE = new Set<CelType["kind"]>(["null", "object", "timestamp", "duration", "extension", "optional"]);

/** Binds variables so that every type of `from` is assignable to that of `to`. If one is not, no binding stays. */
export function assign(from: readonly CelType[], to: readonly CelType[], bindings: CelBindings): boolean {
  const before = new Map(bindings.types);
  if (from.every((type, index) => fits(type, to[index] ?? DYN, bindings))) return true;
  bindings.types.clear();
  for (const [id, type] of before) bindings.types.set(id, type);
  return false;
}

function fits(from: CelType, to: CelType, bindings: CelBindings): boolean {
  const [a, b] = [resolve(from, bindings), resolve(to, bindings)];
  if (b.kind === "variable") {
    if (a.kind === "variable" && a.id === b.id) return true;
    if (mentions(a, b.id, bindings)) return false;
    bindings.types.set(b.id, a);
    return true;
  }
  if (a.kind === "variable") {
    if (mentions(b, a.id, bindings)) return false;
    bindings.types.set(a.id, b);
    return true;
  }
  if (a.kind === "dyn" || b.kind === "dyn") return true;
  if (a.kind === "null") return NULLABLE.has(b.kind);
  if (b.kind === "null") return NULLABLE.has(a.kind);
  if ((a.kind === "list" && b.kind === "list") || (a.kind === "optional" && b.kind === "optional")) {
    return fits(a.of, b.of, bindings);
  }
  if (a.kind === "map" && b.kind === "map") return fits(a.key, b.key, bindings) && fits(a.value, b.value, bindings);
  if (a.kind === "object" && b.kind === "object") return a.fields === b.fields;
  if (a.kind === "extension" && b.kind === "extension") return a.name === b.name;
  return a.kind === b.kind;
}

/** Whether a type contains the variable: bound to it, the variable would be a type without end. */
function mentions(type: CelType, id: number, bindings: CelBindings): boolean {
  const current = resolve(type, bindings);
  switch (current.kind) {
    case "variable":
      return current.id === id;
    case "list":
    case "optional":
      return mentions(current.of, id, bindings);
    case "map":
      return mentions(current.key, id, bindings) || mentions(current.value, id, bindings);
    default:
      return false;
  }
}
