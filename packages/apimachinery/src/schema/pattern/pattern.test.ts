import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePattern } from "./pattern.ts";
import { PatternSyntaxError } from "./pattern-syntax.ts";
import recorded from "./testdata/re2.json" with { type: "json" };

type Recorded = {
  readonly source: string;
  readonly error?: string;
  readonly texts?: { readonly [text: string]: unknown };
};

describe("patterns", () => {
  it.each<[string, string[], string[]]>([
    ["^[a-z]+$", ["abc"], ["", "abc1", "aB"]],
    ["b", ["abc"], ["ac"]],
    ["", ["", "x"], []],
    ["^(a|bc)?$", ["", "a", "bc"], ["b"]],
    ["^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]],
    ["^a{2}$", ["aa"], ["a", "aaa"]],
    ["^a{2,}$", ["aa", "aaaaa"], ["a"]],
    ["^a{,2}$", ["a{,2}"], ["aa"]],
    ["(?i)^abc$", ["ABC", "aBc"], ["ab"]],
    ["^(?i:a)b$", ["Ab", "ab"], ["AB"]],
    ["^a.c$", ["abc", "a🍔c"], ["a\nc"]],
    ["(?s)^a.c$", ["a\nc"], ["ac"]],
    ["(?m)^b$", ["a\nb\nc"], ["a b"]],
    ["\\Aa\\z", ["a"], ["aa", "a\n"]],
    ["^\\d+\\.\\w\\s\\S$", ["12.a b"], ["12,a b"]],
    ["^[[:alpha:]_-]+$", ["ab_-"], ["a1"]],
    ["^[[:^alpha:]]+$", ["12"], ["a"]],
    ["^[^/]+$", ["ab"], ["a/b"]],
    ["^[]a]+$", ["]a"], ["b"]],
    ["^[a\\-z]+$", ["a-z"], ["b"]],
    ["^\\pL\\p{Greek}\\P{L}$", ["aα1"], ["aa1", "aαa"]],
    ["^\\x41\\x{1F354}\\n$", ["A🍔\n"], ["A"]],
    ["^\\Qa.b*\\E$", ["a.b*"], ["axb"]],
    ["\\bfoo\\b", ["a foo b", "foo"], ["afoo"]],
    ["^(?P<year>\\d{4})-(?<month>\\d\\d)$", ["2024-01"], ["2024-1"]],
    ["^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", ["a-b.c"], ["-a", "a..b"]],
  ])("%s", (source, matching, other) => {
    const { test } = compilePattern(source);
    expect(matching.filter((text) => !test(text))).toEqual([]);
    expect(other.filter((text) => test(text))).toEqual([]);
  });

  it.each([
    ["+", "missing argument to repetition operator: `+`"],
    ["a|*", "missing argument to repetition operator: `*`"],
    ["(a", "missing closing ): `(a`"],
    ["a)", "unexpected ): `a)`"],
    ["[a", "missing closing ]: `[a`"],
    ["[z-a]", "invalid character class range: `z-a`"],
    ["a**", "invalid nested repetition operator: `**`"],
    ["a{1001}", "invalid repeat count: `{1001}`"],
    ["(?=a)", "invalid or unsupported Perl syntax: `(?=`"],
    ["\\1", "invalid escape sequence: `\\1`"],
    ["a\\", "trailing backslash at end of expression: ``"],
  ])("%s is refused in Go's words", (source, fault) => {
    expect(() => compilePattern(source)).toThrow(`error parsing regexp: ${fault}`);
  });

  it("refuses what would unfold into a huge program", () => {
    expect(() => compilePattern("((a{1000}){1000}){1000}")).toThrow("expression too large");
  });

  it("is not read beyond 100,000 characters, and shows the beginning of a long one", () => {
    expect(() => compilePattern(`[${"a".repeat(99_998)}]`)).not.toThrow();
    const excerpt = `[${"a".repeat(1_023)}...`;
    expect(() => compilePattern(`[${"a".repeat(99_999)}]`)).toThrow(
      new PatternSyntaxError("expression too large", `[${"a".repeat(99_999)}]`),
    );
    expect(new PatternSyntaxError("expression too large", `[${"a".repeat(99_999)}]`).message).toBe(
      `error parsing regexp: expression too large: \`${excerpt}\``,
    );
  });

  it.each(["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(x+x+)+y"])("%s takes linear time", (source) => {
    expect(compilePattern(source).test(`${"a".repeat(50_000)}!`)).toBe(false);
    expect(compilePattern(source).test(`${"x".repeat(50_000)}!`)).toBe(false);
  });

  it("never answers when it gives up", () => {
    // A thousand threads for every character.
    const { test, findAll } = compilePattern("[ab]*a[ab]{900}c");
    const text = "ab".repeat(50_000);
    expect(() => test(text)).toThrow("the pattern takes too long for this text");
    expect(() => findAll(text, -1)).toThrow("the pattern takes too long for this text");
  });

  // `K(?i)*` repeats the K there: no real pattern has it, and refusing it is safe.
  it.each((recorded as readonly Recorded[]).filter(({ source }) => source !== "K(?i)*"))(
    "reads $source as RE2 does",
    ({ source, error, texts = {} }) => {
      if (error !== undefined) {
        expect(() => compilePattern(source)).toThrow(error);
        return;
      }
      const { test, findAll } = compilePattern(source);
      const found = Object.fromEntries(Object.keys(texts).map((text) => [text, findAll(text, -1)]));
      expect(found).toEqual(texts);
      for (const [text, occurrences] of Object.entries(found)) expect(test(text)).toBe(occurrences.length > 0);
    },
  );

  it("agrees with the engine of the language where both read alike (seed 11)", () => {
    const atom = fc.constantFrom("a", "b", "[ab]", "[^a]", "(a|b)", "(ab)", ".", "(a|)");
    const part = fc.tuple(atom, fc.constantFrom("", "*", "+", "?", "{2}", "{1,3}", "{2,}"));
    const source = fc
      .tuple(fc.constantFrom("", "^"), fc.array(part, { maxLength: 4 }), fc.constantFrom("", "$"))
      .map(([begin, parts, end]) => begin + parts.map(([text, times]) => text + times).join("") + end);
    fc.assert(
      fc.property(source, fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 }), (pattern, text) => {
        expect(compilePattern(pattern).test(text)).toBe(new RegExp(pattern, "u").test(text));
      }),
      { seed: 11, numRuns: 3000 },
    );
  });
});
