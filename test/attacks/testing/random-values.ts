// Values of types that a field is not made for, and objects that have one of them somewhere.

import type { ServedOperation } from "./served-operations.ts";

export type Random = (bound: number) => number;

export const oneOf = <T>(random: Random, values: readonly T[]): T => values[random(values.length)] as T;

/** Beyond what a client that means well would send: each once, of every type, at the edges of each. */
const VALUES: readonly unknown[] = [
  null,
  null,
  true,
  false,
  0,
  -1,
  1,
  1.5,
  1e21,
  2 ** 31,
  "",
  "x",
  "*",
  "a/b",
  "..",
  "null",
  "2026-01-01T00:00:00Z",
  "1h",
  "\u0000",
  "\ud800",
  "é".repeat(300),
  "x".repeat(70_000),
  [],
  {},
  [null],
  [[]],
  [{}],
  [1],
  ["x"],
  ["x", null],
  [true, {}],
  { a: null },
  { a: 1 },
  { a: [] },
  { a: { b: {} } },
  { "": "" },
  { constructor: 1 },
  { length: 1 },
  { toString: null },
  [[[[[[]]]]]],
  { name: null },
  { name: 5 },
  [{ name: 1 }],
  [{ name: null, kind: [] }],
  { metadata: null },
  { map: 1, filter: [] },
];

/** Also texts that JSON can say and JavaScript cannot. */
const PLACEHOLDER = "@number@";
const NUMBERS = [
  "1e400",
  "-0",
  "123456789012345678901234567890",
  "0.1e-400",
  "9007199254740993",
  "18446744073709551616",
];

export const anyValue = (random: Random): unknown =>
  random(20) === 0 ? `${PLACEHOLDER}${oneOf(random, NUMBERS)}` : oneOf(random, VALUES);

export const jsonText = (value: unknown): string =>
  JSON.stringify(value).replaceAll(new RegExp(`"${PLACEHOLDER}([^"]*)"`, "g"), "$1");

/** The way to a field: names, and for items of a list, 0. */
export function anyPath(random: Random, { schema, resolve }: ServedOperation): readonly (string | number)[] {
  const path: (string | number)[] = [];
  let at = schema;
  for (;;) {
    const { properties, items, additionalProperties } = at;
    const names = Object.keys(properties ?? {}).filter(
      (name) => path.length > 0 || name !== "metadata" || random(3) === 0,
    );
    if (names.length > 0) {
      const name = oneOf(random, names);
      path.push(name);
      at = resolve(properties?.[name]);
    } else if (items !== undefined) {
      path.push(0);
      at = resolve(items);
    } else if (typeof additionalProperties === "object") {
      path.push(oneOf(random, ["entry", "a.b/c", "__proto__", "constructor", ""]));
      at = resolve(additionalProperties);
    } else {
      return path;
    }
    if (random(6) === 0) return path;
  }
}

/** A copy with the value at the path; what lies on the way is made where it is missing or of another type. */
export function withValueAt(target: unknown, [first, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (first === undefined) return value;
  if (typeof first === "number") {
    const list = Array.isArray(target) ? target : [];
    return [withValueAt(list[0], rest, value), ...list.slice(1)];
  }
  const object = typeof target === "object" && target !== null && !Array.isArray(target) ? target : {};
  const entries = Object.entries(object).filter(([name]) => name !== first);
  const own = entries.length === Object.keys(object).length ? undefined : (object as Record<string, unknown>)[first];
  return Object.fromEntries([...entries, [first, withValueAt(own, rest, value)]]);
}

/** As block YAML where that is easy, which is JSON otherwise: YAML holds both. */
export const asPointer = (path: readonly (string | number)[]): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
