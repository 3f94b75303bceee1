import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  difference,
  equalFieldSets,
  type FieldSet,
  fieldSetOf,
  hasPath,
  intersection,
  leaves,
  pathsOf,
  recursiveDifference,
  recursiveIntersection,
  union,
  withPrefix,
} from "./field-set.ts";
import {
  type FieldPath,
  fieldElement,
  fieldPath,
  formatFieldPath,
  indexElement,
  keyElement,
  type PathElement,
  valueElement,
} from "./path-element.ts";

const set = (...paths: string[]): FieldSet => fieldSetOf(...paths.map((path) => fieldPath(...path.split("."))));
const names = (fields: FieldSet): string[] => pathsOf(fields).map((path) => formatFieldPath(path).slice(1));

describe("field set", () => {
  it.each([
    ["union", union, ["a", "a.b", "c"]],
    ["intersection", intersection, ["a.b"]],
    ["difference keeps what lies below a removed field", difference, ["a", "c.d"]],
    ["recursive difference removes it", recursiveDifference, ["a"]],
    ["recursive intersection keeps it", recursiveIntersection, ["a.b", "c.d"]],
  ])("%s", (name, operation, expected) => {
    const left = name === "union" ? set("a", "a.b") : set("a", "a.b", "c.d");
    expect(names(operation(left, set("a.b", "c")))).toEqual(name === "union" ? ["a", "c", "a.b"] : expected);
  });

  it("holds the paths it was made of, and not their parents", () => {
    const fields = set("a.b", "c");
    expect(hasPath(fields, fieldPath("a", "b"))).toBe(true);
    expect(hasPath(fields, fieldPath("a"))).toBe(false);
    expect(hasPath(fields, [])).toBe(false);
    expect(names(withPrefix(fields, fieldElement("a")))).toEqual(["b"]);
  });

  it("finds the leaves", () => {
    expect(names(leaves(set("a", "a.b", "c")))).toEqual(["c", "a.b"]);
  });

  it("lists members, keys, values and indices in this order", () => {
    const elements: PathElement[] = [
      indexElement(2),
      valueElement("b"),
      valueElement(10),
      valueElement(9),
      keyElement({ port: 80, name: "a" }),
      keyElement({ name: "a" }),
      fieldElement("z"),
      indexElement(10),
    ];
    expect(pathsOf(fieldSetOf(...elements.map((element) => [element]))).map(formatFieldPath)).toEqual([
      ".z",
      '[name="a"]',
      '[name="a",port=80]',
      "[=9]",
      "[=10]",
      '[="b"]',
      "[2]",
      "[10]",
    ]);
  });

  const paths = fc.array(fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }), { maxLength: 6 });
  const sets = paths.map((list) => fieldSetOf(...list.map((path) => fieldPath(...path))));
  const text = (fields: FieldSet) => new Set(pathsOf(fields).map(formatFieldPath));
  const below = (path: FieldPath, other: FieldSet) => path.some((_, depth) => hasPath(other, path.slice(0, depth + 1)));

  it("agrees with plain sets of paths, and leaves its operands alone", () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const before = [text(a), text(b)];
        const keep = (fields: FieldSet, wanted: (path: FieldPath) => boolean) =>
          new Set(pathsOf(fields).filter(wanted).map(formatFieldPath));
        expect(text(union(a, b))).toEqual(new Set([...text(a), ...text(b)]));
        expect(text(intersection(a, b))).toEqual(keep(a, (path) => hasPath(b, path)));
        expect(text(difference(a, b))).toEqual(keep(a, (path) => !hasPath(b, path)));
        expect(text(recursiveDifference(a, b))).toEqual(keep(a, (path) => !below(path, b)));
        expect(text(recursiveIntersection(a, b))).toEqual(keep(a, (path) => below(path, b)));
        expect([text(a), text(b)]).toEqual(before);
      }),
    );
  });

  it("hands an operand back where that is the result", () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        expect(union(a, intersection(a, b))).toBe(a);
        for (const result of [difference(a, b), recursiveDifference(a, b)]) {
          expect(result === a).toBe(equalFieldSets(result, a));
        }
      }),
    );
  });
});
