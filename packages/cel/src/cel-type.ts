// The types of expressions, known before anything is evaluated.
// Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md#gradual-type-checking, cel-go/checker/{types,format}.go

import type { ListIdentity } from "./cel-value.ts";

export type CelType =
  | { readonly kind: SimpleKind }
  /** A type known only at runtime. `isAny`: one value of any type, which no macro goes through. */
  | { readonly kind: "dyn"; readonly isAny?: true }
  /** A type of a function library. */
  | { readonly kind: "extension"; readonly name: string }
  | { readonly kind: "list"; readonly of: CelType; readonly hasNulls?: boolean; readonly identity?: ListIdentity }
  | { readonly kind: "map"; readonly key: CelType; readonly value: CelType; readonly hasNulls?: boolean }
  /** `name`: as messages show it. Default: `object`. */
  | { readonly kind: "object"; readonly fields: ReadonlyMap<string, CelField>; readonly name?: string }
  | { readonly kind: "optional"; readonly of: CelType }
  /** `of`: the type that the value is. */
  | { readonly kind: "type"; readonly of: CelType }
  /** Any type; the same one for all occurrences in a signature. */
  | { readonly kind: "parameter"; readonly name: string }
  | { readonly kind: "variable"; readonly id: number };

/** A member by the name that expressions have for it. */
export type CelField = { readonly property: string; readonly type: CelType };

const SIMPLE_KINDS = ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration", "null"] as const;
type SimpleKind = (typeof SIMPLE_KINDS)[number];

/** Types of libraries, as signatures name them, and the names that users see. */
export const EXTENSION_TYPES = {
  quantity: "kubernetes.Quantity",
  ip: "net.IP",
  cidr: "net.CIDR",
  url: "kubernetes.URL",
  format: "kubernetes.NamedFormat",
  semver: "kubernetes.Semver",
  authorizer: "kubernetes.authorization.Authorizer",
  pathCheck: "kubernetes.authorization.PathCheck",
  groupCheck: "kubernetes.authorization.GroupCheck",
  resourceCheck: "kubernetes.authorization.ResourceCheck",
  decision: "kubernetes.authorization.Decision",
} as const;

/** The type that a signature names: `string`, `list<T>`, `map<K, V>`, `optional<T>`, `type<T>`. */
export function readCelType(text: string): CelType {
  const [, outer, inner = ""] = /^(list|optional|map|type)<(.*)>$/.exec(text) ?? [];
  if (outer === "list" || outer === "optional" || outer === "type") return { kind: outer, of: readCelType(inner) };
  if (outer === "map") {
    const comma = inner.indexOf(", ");
    return { kind: "map", key: readCelType(inner.slice(0, comma)), value: readCelType(inner.slice(comma + 2)) };
  }
  const simple = SIMPLE_KINDS.find((kind) => kind === text);
  if (simple !== undefined) return { kind: simple };
  if (text === "dyn") return { kind: text };
  const extension = Object.entries(EXTENSION_TYPES).find(([name]) => name === text);
  return extension === undefined ? { kind: "parameter", name: text } : { kind: "extension", name: extension[1] };
}

/** The type that an expression names: `list` is any list. A name without a type of its own is one that only equals itself. */
export function typeNamed(name: string): CelType {
  if (name === "list") return { kind: "list", of: { kind: "dyn" } };
  if (name === "map") return { kind: "map", key: { kind: "dyn" }, value: { kind: "dyn" } };
  const simple = SIMPLE_KINDS.find((kind) => kind === name || VALUE_NAMES[kind] === name);
  return simple === undefined ? { kind: "extension", name } : { kind: simple };
}

/** The names that expressions have for types with another name in messages. */
const VALUE_NAMES: { readonly [kind: string]: string } = {
  null: "null_type",
  timestamp: "google.protobuf.Timestamp",
  duration: "google.protobuf.Duration",
};

/** As messages show it. */
export function formatCelType(type: CelType): string {
  switch (type.kind) {
    case "list":
      return `list(${formatCelType(type.of)})`;
    case "map":
      return `map(${formatCelType(type.key)}, ${formatCelType(type.value)})`;
    case "optional":
      return `optional_type(${formatCelType(type.of)})`;
    case "type":
      return `type(${formatCelType(type.of)})`;
    case "extension":
    case "parameter":
      return type.name;
    case "variable":
      return "dyn";
    case "dyn":
      return type.isAny === true ? "any" : type.kind;
    case "object":
      return type.name ?? type.kind;
    default:
      return type.kind;
  }
}

/** As Go prints it, in messages about the type of a whole expression. */
export function formatGoType(type: CelType): string {
  switch (type.kind) {
    case "list":
    case "type":
      return `${type.kind}(${formatGoType(type.of)})`;
    case "optional":
      return `optional_type(${formatGoType(type.of)})`;
    case "map":
      return `map(${formatGoType(type.key)}, ${formatGoType(type.value)})`;
    case "dyn":
      return type.isAny === true ? "google.protobuf.Any" : type.kind;
    default:
      return VALUE_NAMES[type.kind] ?? formatCelType(type);
  }
}
