// The semantics of the CEL specification, as far as rules over JSON need them.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { describe, expect, it } from "vitest";
import { CelSyntaxError, parseCel } from "./cel-syntax.ts";
import { CelBudgetError, CelEvaluationError, createCelBudget, evaluateCel } from "./evaluate-cel.ts";

const self = {
  size: 3,
  name: "web-1",
  tags: ["a", "b"],
  ports: [
    { port: 80, protocol: "TCP" },
    { port: 443, protocol: "TCP" },
  ],
  labels: { app: "x" },
  "dash-ed": true,
};
const evaluate = (source: string, steps = 1_000, names: { [name: string]: JsonValue } = { self }): JsonValue =>
  evaluateCel(parseCel(source), names, createCelBudget(steps));

describe("an expression", () => {
  it.each<[string, JsonValue]>([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["7 / 2", 3],
    ["-7 / 2", -3],
    ["7.5 / 2.5 == 3.0", true],
    ["7 % 4 == 3 ? 'yes' : 'no'", "yes"],
    ["'a' + \"b\" == r'ab'", true],
    ["'\\u0041\\n' == 'A\\n'", true],
    ["[1, 2] + [3]", [1, 2, 3]],
    ["{'a': 1}.a", 1],
    ["self.size >= 3 && self.name.startsWith('web')", true],
    ["!(self.size > 5) || false", true],
    ["has(self.missing)", false],
    ["has(self.labels.app)", true],
    ["!has(self.missing) || self.missing > 1", true],
    ["self.missing > 1 || true", true],
    ["self.missing > 1 && false", false],
    ["'a' in self.tags && 'app' in self.labels && !('z' in self.tags)", true],
    ["self.ports[1].port", 443],
    ["self.labels['app']", "x"],
    ["self.dash__dash__ed", true],
    ["self.ports.all(p, p.port < 1000)", true],
    ["self.ports.exists(p, p.port == 443)", true],
    ["self.ports.exists_one(p, p.protocol == 'TCP')", false],
    ["self.ports.filter(p, p.port > 100).map(p, p.port)", [443]],
    ["self.ports.map(p, p.port > 100, p.protocol)", ["TCP"]],
    ["self.labels.all(k, k.matches('^[a-z]+$'))", true],
    ["size(self.tags) + self.name.size()", 7],
    ["int('7') + 1 == 8 && string(5) == '5'", true],
    ["self.tags.join(',')", "a,b"],
    ["0x10 == 16 && 5u == 5", true],
    ["null == null", true],
    ["9007199254740993 == 9007199254740993", true],
  ])("%s", (source, value) => {
    expect(evaluate(source)).toEqual(value);
  });

  it.each(["self.missing", "1 + 'a'", "1 / 0", "self.ports[7]", "nobody", "self.size.noSuch()", "self.size && true"])(
    "%s cannot be evaluated",
    (source) => {
      expect(() => evaluate(source)).toThrow(CelEvaluationError);
    },
  );

  it.each(["1 +", "(1", "self.", "a b", "'open", "[1, 2", "#"])("%s does not parse", (source) => {
    expect(() => parseCel(source)).toThrow(CelSyntaxError);
  });
});

describe("the budget", () => {
  const many = { self: Array.from({ length: 1_000 }, (_, at) => `item-${at}`) };

  it.each([
    "self.all(a, self.all(b, self.all(c, true)))",
    "self.exists(a, self.exists(b, a != a && b != b))",
    "self.all(a, self == self)",
    "self.map(a, self.map(b, self)).size() > 0",
    "self.all(a, self.join('') != a)",
  ])("ends %s", (source) => {
    expect(() => evaluate(source, 100_000, many)).toThrow(CelBudgetError);
  });

  it("is enough for what goes through a list once, and is what is left of another", () => {
    expect(evaluate("self.all(a, a.startsWith('item'))", 100_000, many)).toBe(true);
    const outer = createCelBudget(10);
    expect(() => evaluateCel(parseCel("self.all(a, true)"), many, createCelBudget(100_000, outer))).toThrow(
      CelBudgetError,
    );
  });

  it("takes time linear to the text for a pattern, and refuses what such patterns do not have", () => {
    const text = `${"a".repeat(50_000)}!`;
    expect(evaluate("self.matches('^(a+)+$')", 1_000_000, { self: text })).toBe(false);
    expect(evaluate("self.matches('^a+!$')", 1_000_000, { self: text })).toBe(true);
    expect(() => evaluate("'x'.matches('(')")).toThrow(CelEvaluationError);
    expect(() => evaluate("'xx'.matches('(x)\\\\1')")).toThrow(CelEvaluationError);
  });
});
