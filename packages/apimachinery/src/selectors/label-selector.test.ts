// Vectors: outputs of k8s.io/apimachinery v0.32.1 pkg/labels on the inputs of its selector_test.go and further ones.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Labels } from "./label-requirement.ts";
import { type ParsedLabelSelector, parseLabelSelector, selectorFromLabelSelector } from "./label-selector.ts";
import vectors from "./testdata/label-selectors.json" with { type: "json" };

type Case = {
  id: string;
  kind: string;
  input?: string;
  error?: string;
  canonical?: string;
  requirements?: unknown[];
  selector?: string;
  labels?: Labels;
  matches?: boolean;
};
const cases = vectors.cases as Case[];

/** As upstream keeps them. */
const sortedValues = ({ requirements }: ParsedLabelSelector) =>
  requirements.map(({ values, ...rest }) => ({ ...rest, values: [...values].sort() }));

/** Recorded from upstream's Nothing(), whose text is empty as well; see selectorFromLabelSelector(undefined). */
const NOTHING = "04-label-selectors-0217";

describe("upstream vectors", () => {
  it.each(cases.filter(({ kind }) => kind === "parse"))("$id parses $input", ({ input, error, ...expected }) => {
    if (error !== undefined) {
      expect(() => parseLabelSelector(input ?? "")).toThrow(expect.objectContaining({ message: error }));
      return;
    }
    const selector = parseLabelSelector(input ?? "");
    expect(selector.text).toBe(expected.canonical);
    expect(sortedValues(selector)).toEqual(expected.requirements);
    expect(sortedValues(parseLabelSelector(selector.text))).toEqual(expected.requirements);
  });

  it.each(cases.filter(({ id, kind }) => kind === "match" && id !== NOTHING))(
    "$id matches $selector",
    ({ selector, labels, matches }) => {
      expect(parseLabelSelector(selector ?? "").matches(labels)).toBe(matches);
    },
  );
});

describe("parseLabelSelector", () => {
  it.each([
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in (,", "unable to parse requirement: found '', expected: ',', or identifier"],
    ["a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ["x>9223372036854775808", "for 'Gt', 'Lt' operators, the value must be an integer"],
  ])("refuses %s", (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(message);
  });

  it("ignores members of the prototype", () => {
    expect(parseLabelSelector("constructor").matches({})).toBe(false);
    expect(parseLabelSelector("!toString").matches({})).toBe(true);
    expect(parseLabelSelector("hasOwnProperty!=a").matches({})).toBe(true);
  });

  it("compares labels as 64-bit integers", () => {
    expect(parseLabelSelector("x>9007199254740992").matches({ x: "9007199254740993" })).toBe(true);
    expect(parseLabelSelector("x>1").matches({ x: "99999999999999999999" })).toBe(false);
    expect(parseLabelSelector("x>1").matches({ x: "2.0" })).toBe(false);
    expect(parseLabelSelector("x<1").matches(undefined)).toBe(false);
  });

  it("answers every text with a selector or a SelectorError", () => {
    const piece = fc.constantFrom("a", "b/c", "in", "notin", "=", "!", "(", ")", ",", "<", ">", " ", "\0", "é", "1");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        try {
          const selector = parseLabelSelector(pieces.join(""));
          expect(sortedValues(parseLabelSelector(selector.text))).toEqual(sortedValues(selector));
        } catch (error) {
          expect(error).toHaveProperty("name", "SelectorError");
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe("selectorFromLabelSelector", () => {
  it("selects nothing when absent and everything when empty", () => {
    expect(selectorFromLabelSelector(undefined).matches({ a: "b" })).toBe(false);
    expect(selectorFromLabelSelector({}).matches({ a: "b" })).toBe(true);
    expect(selectorFromLabelSelector({}).empty).toBe(true);
  });

  it("joins labels and expressions", () => {
    const selector = selectorFromLabelSelector({
      matchLabels: { z: "1" },
      matchExpressions: [
        { key: "a", operator: "In", values: ["y", "x"] },
        { key: "b", operator: "NotIn", values: ["q"] },
        { key: "c", operator: "Exists" },
        { key: "d", operator: "DoesNotExist" },
      ],
    });
    expect(selector.text).toBe("a in (x,y),b notin (q),c,!d,z=1");
    expect(selector.matches({ a: "x", c: "", z: "1" })).toBe(true);
    expect(selector.matches({ a: "x", c: "", d: "", z: "1" })).toBe(false);
  });

  it.each([
    [{ matchExpressions: [{ key: "a", operator: "Near" }] }, '"Near" is not a valid label selector operator'],
    [{ matchExpressions: [{ key: "a", operator: "In", values: [] }] }, "values set can't be empty"],
    [{ matchExpressions: [{ key: "a", operator: "Exists", values: ["x"] }] }, "values set must be empty"],
    [{ matchLabels: { "-": "x" } }, 'key: Invalid value: "-"'],
  ])("refuses %j", (selector, message) => {
    expect(() => selectorFromLabelSelector(selector)).toThrow(message);
  });
});

it("takes a thousand requirements, each of many values, and no more", () => {
  const clauses = (count: number) => Array.from({ length: count }, (_, index) => `a${index}!=b`).join(",");
  expect(parseLabelSelector(clauses(1_000)).requirements).toHaveLength(1_000);
  expect(() => parseLabelSelector(clauses(1_001))).toThrow("more than 1000 requirements");
  const values = Array.from({ length: 5_000 }, (_, index) => `v${index}`).join(",");
  expect(parseLabelSelector(`a in (${values})`).matches({ a: "v4999" })).toBe(true);
});

it("names a hundred invalid values of a requirement, and not all of ten thousand", () => {
  const values = Array.from({ length: 10_000 }, (_, index) => `-${index}`).join(",");
  const message = (() => {
    try {
      parseLabelSelector(`a in (${values})`);
    } catch (error) {
      return String(error);
    }
    return "";
  })();
  expect(message.match(/Invalid value/g)).toHaveLength(100);
});
