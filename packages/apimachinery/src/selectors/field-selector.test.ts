// Vectors: outputs of k8s.io/apimachinery v0.32.1 pkg/fields on the inputs of its selector_test.go and further ones.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeFieldValue, parseFieldSelector, unescapeFieldValue } from "./field-selector.ts";
import vectors from "./testdata/field-selectors.json" with { type: "json" };

type Fields = { [field: string]: string };
type Case = {
  id: string;
  kind: string;
  input?: string;
  error?: string;
  canonical?: string;
  requirements?: unknown[];
  escaped?: string;
  unescaped?: string;
  selector?: string;
  fields?: Fields;
  matches?: boolean;
};
const cases = vectors.cases as Case[];

/** Recorded after upstream's Transform had renamed its fields, so not what parsing gives. */
const TRANSFORMED = "05-field-selectors-0025";

const getField = (fields: Fields, field: string): string => fields[field] ?? "";

describe("upstream vectors", () => {
  const parsed = cases.filter(({ id, kind }) => kind === "parse" && id !== TRANSFORMED);
  it.each(parsed)("$id parses $input", ({ input, error, canonical, requirements }) => {
    if (error !== undefined) {
      expect(() => parseFieldSelector(input ?? "")).toThrow(expect.objectContaining({ message: error }));
      return;
    }
    expect(parseFieldSelector(input ?? "")).toMatchObject({ text: canonical, requirements });
  });

  it.each(cases.filter(({ kind }) => kind === "match"))("$id matches $selector", ({ selector, fields, matches }) => {
    expect(parseFieldSelector(selector ?? "").matches(fields ?? {}, getField)).toBe(matches);
  });

  it.each(cases.filter(({ kind }) => kind === "escape"))("$id escapes $input", ({ input, escaped }) => {
    expect(escapeFieldValue(input ?? "")).toBe(escaped);
  });

  it.each(cases.filter(({ kind }) => kind === "unescape"))("$id unescapes $input", ({ input, unescaped, error }) => {
    if (error === undefined) expect(unescapeFieldValue(input ?? "")).toBe(unescaped);
    else expect(() => unescapeFieldValue(input ?? "")).toThrow(expect.objectContaining({ message: error }));
  });
});

describe("parseFieldSelector", () => {
  it("names the one value a field must have", () => {
    const selector = parseFieldSelector("metadata.name=a,spec.user!=b");
    expect(selector.requiresExactMatch("metadata.name")).toBe("a");
    expect(selector.requiresExactMatch("spec.user")).toBeUndefined();
    expect(selector.requiresExactMatch("spec.team")).toBeUndefined();
  });

  it("matches an absent field as the empty value", () => {
    expect(parseFieldSelector("spec.user=").matches({}, getField)).toBe(true);
    expect(parseFieldSelector("spec.user!=").matches({}, getField)).toBe(false);
  });

  it("carries any value through escaping", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        const selector = parseFieldSelector(`a=${escapeFieldValue(value)}`);
        expect(selector.requirements).toEqual([{ field: "a", operator: "=", value }]);
      }),
    );
  });
});
