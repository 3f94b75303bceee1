// The values that expressions work on. Whole numbers are bigint, doubles are number: `1` and `1.0` are of two types.
// Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md#values

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | CelUint
  | CelBytes
  | CelList
  | CelMap
  | CelTimestamp
  | CelDuration
  | CelOptional
  | CelTypeValue
  | CelExtension;

/** An expression cannot be evaluated: a missing key, operands that do not go together, an overflow. The message is upstream's. */
export class CelEvaluationError extends Error {
  override readonly name = "CelEvaluationError";
}

export const failCel = (why: string): never => {
  throw new CelEvaluationError(why);
};

export class CelUint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class CelBytes {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** A point in time. */
export class CelTimestamp {
  /** Since 1970. */
  readonly nanoseconds: bigint;
  /** East of Greenwich, where it was written: it is written the same way again. */
  readonly offsetMinutes: number;

  constructor(nanoseconds: bigint, offsetMinutes: number) {
    this.nanoseconds = nanoseconds;
    this.offsetMinutes = offsetMinutes;
  }
}

export class CelDuration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A value that may be missing, which is not the same as null. */
export class CelOptional {
  readonly value: CelValue | undefined;

  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

export const NO_VALUE = new CelOptional(undefined);

/** Result of `type(x)`. */
export class CelTypeValue {
  readonly typeName: string;

  constructor(typeName: string) {
    this.typeName = typeName;
  }
}

/** A value of a type of a function library, such as a quantity. */
export abstract class CelExtension {
  abstract readonly typeName: string;
  /** Only asked about values of the same type. `visit` is called with what the comparison weighs beyond a pair of scalars. */
  abstract equals(other: CelExtension, visit: (weight: number) => void): boolean;
  /** Undefined where it has no such member. */
  memberOf(_field: string): CelValue | undefined {
    return undefined;
  }
}

/** An object of a type that an expression names. */
export class CelMessage extends CelExtension {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, CelValue>;

  constructor(typeName: string, fields: ReadonlyMap<string, CelValue>) {
    super();
    this.typeName = typeName;
    this.fields = fields;
  }

  /** Upstream compares the fields as they are in memory, so that only a message is equal to itself. */
  equals(other: CelExtension): boolean {
    return other === this;
  }

  override memberOf(field: string): CelValue | undefined {
    return this.fields.get(field);
  }
}

/** How the items of a list are distinguished: those of sets by value, those of maps by the members that are their key. */
export type ListIdentity = "set" | { readonly keys: readonly string[] };

export class CelList {
  readonly size: number;
  readonly identity: ListIdentity | undefined;
  readonly #make: () => readonly CelValue[];
  #items: readonly CelValue[] | undefined;

  /** `make` is called at the first access to an item: most items of an object are never accessed. */
  constructor(size: number, make: () => readonly CelValue[], identity?: ListIdentity) {
    this.size = size;
    this.identity = identity;
    this.#make = make;
  }

  get items(): readonly CelValue[] {
    this.#items ??= this.#make();
    return this.#items;
  }
}

export const listOf = (items: readonly CelValue[], identity?: ListIdentity): CelList =>
  new CelList(items.length, () => items, identity);

/** A map, or an object with declared fields. */
export abstract class CelMap {
  abstract readonly size: number;
  abstract keys(): readonly CelValue[];
  /** Undefined when there is no such key. */
  abstract get(key: CelValue): CelValue | undefined;
}

/** A map that an expression has built. */
export class CelLiteralMap extends CelMap {
  readonly #entries: ReadonlyMap<string, readonly [key: CelValue, value: CelValue]>;

  constructor(entries: readonly (readonly [key: CelValue, value: CelValue])[]) {
    super();
    this.#entries = new Map(entries.map((entry) => [keyTextOf(entry[0]), entry]));
  }

  get size(): number {
    return this.#entries.size;
  }

  keys(): readonly CelValue[] {
    return [...this.#entries.values()].map(([key]) => key);
  }

  get(key: CelValue): CelValue | undefined {
    return this.#entries.get(keyTextOf(key))?.[1];
  }
}

/** The same for keys that are equal: `1`, `1u` and `1.0` are one key. */
export function keyTextOf(key: CelValue): string {
  if (typeof key === "string") return `s${key}`;
  if (typeof key === "bigint") return `n${key}`;
  if (key instanceof CelUint) return `n${key.value}`;
  if (typeof key === "number") return Number.isInteger(key) ? `n${BigInt(key)}` : `d${key}`;
  if (typeof key === "boolean") return `b${key}`;
  return failCel(`unsupported key type: ${typeNameOf(key)}`);
}

export function typeNameOf(value: CelValue): string {
  if (value === null) return "null_type";
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
  }
  if (value instanceof CelUint) return "uint";
  if (value instanceof CelBytes) return "bytes";
  if (value instanceof CelList) return "list";
  if (value instanceof CelMap) return "map";
  if (value instanceof CelTimestamp) return "google.protobuf.Timestamp";
  if (value instanceof CelDuration) return "google.protobuf.Duration";
  if (value instanceof CelOptional) return "optional_type";
  return value instanceof CelTypeValue ? "type" : value.typeName;
}

export const truthOf = (value: CelValue): boolean => (typeof value === "boolean" ? value : failCel("no such overload"));

type CelNumber = bigint | number | CelUint;

export const isCelNumber = (value: CelValue): value is CelNumber =>
  typeof value === "bigint" || typeof value === "number" || value instanceof CelUint;

/** Comparisons of JavaScript between bigint and number are exact. */
export const plainNumber = (value: CelNumber): bigint | number => (value instanceof CelUint ? value.value : value);
