// The semantics of the CEL specification and of cel-go, over values of every type that a schema has.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { describe, expect, it } from "vitest";
import { CelLimitError, createCelMeter } from "./cel-budget.ts";
import { CelSyntaxError, textOfSyntaxErrors } from "./cel-expression.ts";
import { CelEvaluationError, type CelValue } from "./cel-value.ts";
import { checkCel } from "./check-cel.ts";
import { evaluateCel } from "./evaluate-cel.ts";
import { CEL_NAMES } from "./functions/cel-library.ts";
import { parseCel } from "./parse-cel.ts";
import { celTypeOfSchema } from "./schema-type.ts";
import { celValueOf } from "./schema-value.ts";

const [STRING, INTEGER, NUMBER]: StructuralSchema[] = [{ type: "string" }, { type: "integer" }, { type: "number" }];
const ANYTHING: StructuralSchema = { "x-kubernetes-preserve-unknown-fields": true };
const objectOf = (properties: { [name: string]: StructuralSchema }): StructuralSchema => ({
  type: "object",
  properties,
});
const listOf = (items: StructuralSchema): StructuralSchema => ({ type: "array", items });
const mapOf = (values: StructuralSchema): StructuralSchema => ({ type: "object", additionalProperties: values });

const PORTS: StructuralSchema = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
  items: objectOf({ name: STRING!, port: INTEGER! }),
};

const SCHEMA = objectOf({
  size: INTEGER!,
  ratio: NUMBER!,
  name: STRING!,
  on: { type: "boolean" },
  limit: { "x-kubernetes-int-or-string": true },
  percent: { "x-kubernetes-int-or-string": true },
  tags: listOf(STRING!),
  none: listOf(INTEGER!),
  sizes: listOf(INTEGER!),
  nulls: listOf({ type: "string", nullable: true }),
  noNulls: listOf(STRING!),
  set: { type: "array", "x-kubernetes-list-type": "set", items: STRING! },
  otherSet: { type: "array", "x-kubernetes-list-type": "set", items: STRING! },
  ports: PORTS,
  portLists: listOf(PORTS),
  labels: mapOf(STRING!),
  when: { type: "string", format: "date-time" },
  day: { type: "string", format: "date" },
  lasts: { type: "string", format: "duration" },
  lastsInWords: { type: "string", format: "duration" },
  data: { type: "string", format: "byte" },
  "dash-ed": { type: "boolean" },
  "dot.ted": { type: "boolean" },
  namespace: { type: "boolean" },
  under__score: { type: "boolean" },
  nullable: { type: "string", nullable: true },
  missing: INTEGER!,
  nested: objectOf({ missing: objectOf({ value: INTEGER! }) }),
  free: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { known: INTEGER! } },
  frees: listOf({ type: "object", "x-kubernetes-preserve-unknown-fields": true }),
  anything: ANYTHING,
  anythings: listOf(ANYTHING),
  embedded: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
});

const SELF: JsonObject = {
  size: 3,
  ratio: 1,
  name: "web-1 👑",
  on: true,
  limit: 7,
  percent: "25%",
  tags: ["b", "a", "b"],
  none: [],
  sizes: [1, 2, 2, 3],
  nulls: [null, "x"],
  noNulls: [null],
  set: ["a", "b"],
  otherSet: ["b", "a"],
  ports: [
    { name: "http", port: 80 },
    { name: "https", port: 443 },
  ],
  portLists: [
    [
      { name: "http", port: 80 },
      { name: "https", port: 443 },
    ],
    [
      { name: "https", port: 443 },
      { name: "http", port: 8080 },
    ],
  ],
  labels: { app: "x", "a/b": "y" },
  when: "2011-08-18T19:03:37.01+01:00",
  day: "1997-07-16",
  lasts: "1h2m3s4ms",
  lastsInWords: "2 days",
  data: "QUI=",
  "dash-ed": true,
  "dot.ted": true,
  namespace: true,
  under__score: true,
  nullable: null,
  nested: {},
  free: { known: 1, unknown: "a" },
  frees: [{ a: 1 }, { a: 2 }, { a: 2 }],
  anything: 5,
  anythings: [5],
  embedded: { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "n" }, spec: {} },
};

const TYPE = celTypeOfSchema(SCHEMA, { isResourceRoot: true })!;

function evaluate(source: string, limit = 100_000, self: CelValue = celValueOf(SELF, TYPE)): CelValue {
  const expression = parseCel(source, CEL_NAMES);
  const [fault] = checkCel(expression, { self: TYPE }).faults;
  if (fault !== undefined) throw fault;
  return evaluateCel(expression, { names: { self }, meter: createCelMeter(limit) });
}

/** The error of what is given in, with its message and the place that it names. */
function faultOf(source: string): unknown {
  try {
    return evaluate(source);
  } catch (error) {
    return error;
  }
}

describe("an expression that is true", () => {
  it.each([
    "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9",
    "7 / 2 == 3 && -7 / 2 == -3 && -7 % 4 == -3 && 7.5 / 2.5 == 3.0",
    "9223372036854775807 - 1 == 9223372036854775806 && -9223372036854775808 < 0",
    "0x10 == 16 && 5u == uint(5) && 1 < 2.5 && 2u <= 2",
    "'a' + \"b\" == r'ab' && '\\u0041\\n' == 'A\\n' && 'x' + '''y''' == 'xy' && r'\\d' == '\\\\d'",
    "b'\\x41B' == bytes('AB') && b'\\101' == b'A' && self.data == b'AB' && size(self.data) == 2",
    "[1, 2] + [3] == [1, 2, 3] && {'a': 1}.a == 1 && {'a': 1}['a'] == 1 && {1: 'x'}[1] == 'x'",
    "self.size >= 3 && self.name.startsWith('web') && size(self.name) == 7",
    "!(self.size > 5) || false",
    "!has(self.missing) && has(self.size) && has(self.labels.app) && !has(self.labels.other)",
    "!has(self.missing) || self.missing > 1",
    "self.missing > 1 || true",
    "!(self.missing > 1 && false)",
    "'a' in self.tags && 'app' in self.labels && !('z' in self.tags)",
    "self.ports[1].port == 443 && self.labels['a/b'] == 'y'",
    "self.dash__dash__ed && self.dot__dot__ted && self.__namespace__ && self.under__underscores__score",
    "self.namespace && has(self.namespace) && self.?namespace.hasValue() && dyn(self)['namespace'] && dyn(self)['dash-ed']",
    "self.ports.all(p, p.port < 1000) && self.ports.exists(p, p.port == 443)",
    "!self.tags.exists_one(t, t == 'b') && self.tags.exists_one(t, t == 'a')",
    "self.ports.filter(p, p.port > 100).map(p, p.port) == [443]",
    "self.ports.map(p, p.port > 100, p.name) == ['https']",
    "self.labels.all(k, k.matches('^[a-z/]+$')) && self.labels.map(k, self.labels[k]).exists(v, v == 'y')",
    "int('7') + 1 == 8 && string(5) == '5' && double('1.5') == 1.5 && bool('true') && int(2.9) == 2",
    "type(self.size) == int && type(self.ratio) == double && type(self.name) == string && type(null) == null_type",
    "self.ratio == 1.0 && self.ratio == double(1) && dyn(1) == dyn(1.0) && dyn(1) != dyn('1')",
    "self.limit == 7 && self.percent == '25%' && self.limit != '7' && self.limit != ['x']",
    "type(self.percent) == string ? int(self.percent.replace('%', '')) == 25 : self.percent < 5",
    "null == null",
    "self.set == self.otherSet && self.set == ['b', 'a'] && self.tags != ['b', 'b', 'a']",
    "self.set + ['b', 'c'] == ['c', 'b', 'a'] && self.tags + ['b'] == ['b', 'a', 'b', 'b']",
    "self.portLists[0] != self.portLists[1] && self.portLists[0] + self.portLists[1] == self.portLists[1]",
    "self.ports == [self.ports[1], self.ports[0]] && size(self.portLists[0] + self.portLists[1]) == 2",
    "type(self.nulls[0]) == null_type && self.nulls.size() == 2",
    "!has(self.nullable)",
    "self.when.getHours() == 18 && self.when.getHours('+01:00') == 19 && self.when.getHours('Europe/Berlin') == 20",
    "self.when == timestamp('2011-08-18T18:03:37.010Z') && string(self.when) == '2011-08-18T19:03:37.01+01:00'",
    "self.when.getFullYear() == 2011 && self.when.getMonth() == 7 && self.when.getDate() == 18 && self.when.getDayOfMonth() == 17",
    "self.when.getDayOfWeek() == 4 && self.when.getDayOfYear() == 229 && self.when.getMilliseconds() == 10",
    "self.day == timestamp('1997-07-16T00:00:00Z') && self.day + duration('24h') > self.day",
    "self.lasts == duration('1h2m') + duration('3s4ms') && self.lasts.getMinutes() == 62 && string(self.lasts) == '3723.004s'",
    "self.lastsInWords == duration('48h') && type(self.lasts) == google.protobuf.Duration",
    "timestamp(1) - timestamp(0) == duration('1s') && int(timestamp('1970-01-01T00:01:00Z')) == 60",
    "self.free.known == 1 && self.frees[1] == self.frees[2] && self.frees[0] != self.frees[1]",
    "self.embedded.kind == 'Pod' && self.embedded.metadata.name == 'p' && self.kind == 'Pod' || true",
    "[self.size, self.size] == [3, 3] && [[1], []] != [[1], [2]]",
    "(true ? 1 : 2) == 1 && (self.on ? 'a' : 'b') == 'a'",
  ])("%s", (source) => {
    expect(evaluate(source)).toBe(true);
  });
});

describe("an expression that cannot be evaluated", () => {
  it.each([
    ["self.missing > 1", "no such key: missing"],
    ["has(self.nested.missing.value)", "no such key: missing"],
    ["self.ports[7].port == 1", "index out of bounds: 7"],
    ["self.labels['none'] == ''", "no such key: none"],
    ["1 / 0 == 1", "division by zero"],
    ["1 % 0 == 1", "modulus by zero"],
    ["9223372036854775807 + 1 > 0", "integer overflow"],
    ["-(-9223372036854775808) > 0", "integer overflow"],
    ["uint(3) - 4u > 0u", "unsigned integer overflow"],
    ["self.limit < 'x'", "no such overload"],
    ["self.limit.startsWith('x')", "no such overload"],
    ["self.noNulls[0] == 'x'", "invalid data, got null for schema with nullable=false"],
    ["self.ports.all(p, p.port > 1 && self.missing > 1)", "no such key: missing"],
    ["self.ports.exists_one(p, self.missing > 1)", "no such key: missing"],
    ["int('x') == 1", "type conversion error from 'string' to 'int'"],
    ["duration(self.name) == duration('1s')", "type conversion error from 'string' to 'google.protobuf.Duration'"],
  ])("%s", (source, why) => {
    expect(faultOf(source)).toEqual(new CelEvaluationError(why));
  });
});

describe("operands that do not fit together", () => {
  it.each([
    ["self.nobody", "undefined field 'nobody'"],
    ["has(self.metadata.namespace)", "undefined field 'namespace'"],
    ["has(self.free.unknown)", "undefined field 'unknown'"],
    ["has(self.anything)", "undefined field 'anything'"],
    ["has(self.anythings)", "undefined field 'anythings'"],
    ["nobody", "undeclared reference to 'nobody' (in container '')"],
    ["self.size.noSuch()", "undeclared reference to 'noSuch' (in container '')"],
    ["1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"],
    ["self.name == null", "found no matching overload for '_==_' applied to '(string, null)'"],
    ["self.size && true", "expected type 'bool' but found 'int'"],
    ["self.name.startsWith(1)", "found no matching overload for 'startsWith' applied to 'string.(int)'"],
    ["['a'].sum() == 'a'", "found no matching overload for 'sum' applied to 'list(string).()'"],
    ["self.free['known'] == 1", "found no matching overload for '_[_]' applied to '(object, string)'"],
    [
      "self.ports[0] == {'name': 'a'}",
      "found no matching overload for '_==_' applied to '(object, map(string, string))'",
    ],
    ["string(type(1))", "found no matching overload for 'string' applied to '(type(int))'"],
    ["[1, 'a']", "expected type 'int' but found 'string'"],
    [
      "self.size.all(x, true)",
      "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ["self.tags.all(t, t)", "expected type 'bool' but found 'string'"],
    ["true ? 1 : 'a'", "found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
    ["'a'.b", "type 'string' does not support field selection"],
    ["'a'.matches(')')", "invalid matches argument"],
    ["duration('1x')", "invalid duration argument"],
    ["timestamp('now')", "invalid timestamp argument"],
  ])("%s", (source, why) => {
    expect(faultOf(source)).toBeInstanceOf(CelSyntaxError);
    expect(faultOf(source)).toHaveProperty("message", why);
  });

  it("is reported at its position", () => {
    expect(faultOf("self.size == 1 && self.nobody")).toHaveProperty("at", 22);
    expect(faultOf("1 + 'a'")).toHaveProperty("at", 2);
    expect(faultOf("'a'.startsWith(1)")).toHaveProperty("at", 14);
  });
});

describe("expressions that do not parse", () => {
  it.each([
    "1 +",
    "(1",
    "self.",
    "a b",
    "'open",
    "[1, 2",
    "#",
    "self.true == 1",
    "in",
    "for == 1",
    "has(self)",
    "[1].all(1, true)",
    "9223372036854775808",
    "'\\q'",
    "f(1,)",
    `${"(".repeat(300)}1${")".repeat(300)}`,
    `1${" + 1".repeat(2_000)}`,
    `a${".a".repeat(300)}`,
  ])("%s", (source) => {
    expect(() => evaluate(source)).toThrow(CelSyntaxError);
  });
});

describe("values that may be missing", () => {
  it.each([
    "self.?size.orValue(0) == 3 && self.?missing.orValue(5) == 5",
    "self.?nested.missing.value.orValue(9) == 9 && !self.nested.?missing.?value.hasValue()",
    "self.labels[?'app'].orValue('') == 'x' && !self.labels[?'none'].hasValue()",
    "self.tags[?0].value() == 'b' && !self.tags[?9].hasValue()",
    "optional.of(1).hasValue() && !optional.none().hasValue() && optional.of(1) == optional.of(1)",
    "!optional.ofNonZeroValue('').hasValue() && optional.ofNonZeroValue(1).hasValue()",
    "!optional.ofNonZeroValue([]).hasValue() && !optional.ofNonZeroValue(0.0).hasValue()",
    "optional.none().or(optional.of(2)).value() == 2 && optional.of(1).or(optional.of(2)).value() == 1",
    "optional.of(1).orValue(1 / 0) == 1",
    "self.?size.optMap(s, s + 1).orValue(0) == 4 && !self.?missing.optMap(s, s + 1).hasValue()",
    "self.?nested.optFlatMap(n, n.?missing).hasValue() == false",
    "[?self.?size, ?self.?missing, 9] == [3, 9] && size({?'a': self.?missing, ?'b': self.?size}) == 1",
    "has(self.?nested.missing) == false",
  ])("%s", (source) => {
    expect(evaluate(source)).toBe(true);
  });

  it("cannot be taken for what they are not", () => {
    expect(() => evaluate("self.?missing.value() == 1")).toThrow(new CelEvaluationError("optional.none() dereference"));
    expect(() => evaluate("[?1] == [1]")).toThrow("expected type 'optional_type(int)' but found 'int'");
    expect(() => evaluate("self.size.orValue(1) == 1")).toThrow("found no matching overload for 'orValue'");
  });
});

describe("comprehensions of two variables", () => {
  it.each([
    "self.tags.all(i, t, i < 3 && t in ['a', 'b'])",
    "self.labels.exists(k, v, k == 'app' && v == 'x')",
    "self.labels.existsOne(k, v, v == 'y')",
    "self.sizes.transformList(i, s, s > 1, i * s) == [2, 4, 9]",
    "self.labels.transformMap(k, v, v + k)['app'] == 'xapp'",
    "self.labels.transformMap(k, v, v == 'x', v).size() == 1",
    "self.labels.transformMapEntry(k, v, {v: k}) == {'x': 'app', 'y': 'a/b'}",
  ])("%s", (source) => {
    expect(evaluate(source)).toBe(true);
  });
});

describe("the budget", () => {
  const many = celValueOf(
    { tags: Array.from({ length: 1_000 }, (_, at) => `item-${at}`) },
    celTypeOfSchema(objectOf({ tags: listOf(STRING!) }))!,
  );

  it.each([
    "self.tags.all(a, self.tags.all(b, self.tags.all(c, true)))",
    "self.tags.exists(a, self.tags.exists(b, a != a && b != b))",
    "self.tags.all(a, self.tags == self.tags)",
    "self.tags.map(a, self.tags.map(b, self.tags)).size() > 0",
    "self.tags.all(a, self.tags.join('') != a)",
    "self.tags.all(a, sets.contains(self.tags, self.tags))",
    "self.tags.map(a, [self.tags]).all(a, a in self.tags.map(b, [self.tags]))",
    "self.tags.all(a, self.tags.exists(b, true))",
    "self.tags.all(a, !(self.tags in []))",
    "self.tags.all(a, !sets.intersects([self.tags], []))",
    "self.tags.all(a, [].indexOf(self.tags) < 0)",
  ])("ends %s", (source) => {
    expect(() => evaluate(source, 100_000, many)).toThrow(CelLimitError);
  });

  it.each([
    ["a list of literals", `self.tags.all(a, [${Array(2_000).fill("1").join()}].size() > 0)`],
    [
      "a map of literals",
      `self.tags.all(a, {${Array.from({ length: 1_000 }, (_, at) => `${at}: 1`).join()}}.size() > 0)`,
    ],
    ["a long key", `self.tags.all(a, !('${"k".repeat(30_000)}' in {'a': 1}))`],
    ["an index by a long key", `self.tags.all(a, {'${"k".repeat(30_000)}': true}['${"k".repeat(30_000)}'])`],
    ["long texts in lists", `self.tags.all(a, '${"k".repeat(30_000)}' in ['${"k".repeat(30_000)}'])`],
    ["long texts in equal lists", `self.tags.all(a, ['${"k".repeat(30_000)}'] == ['${"k".repeat(30_000)}'])`],
  ])("counts %s in a loop", (_, source) => {
    expect(() => evaluate(source, 10_000, many)).toThrow(CelLimitError);
  });

  it("counts what a schema does not describe, however large it is", () => {
    const part = objectOf({ name: STRING! });
    const type = celTypeOfSchema(objectOf({ tags: listOf(STRING!), part: { ...part, ...ANYTHING } }))!;
    const value = celValueOf(
      {
        tags: Array.from({ length: 1_000 }, () => "t"),
        part: { unknown: Array.from({ length: 2_000 }, (__, at) => at) },
      },
      type,
    );
    const names = { self: value };
    const expression = parseCel("self.tags.all(a, self.part == self.part)", CEL_NAMES);
    expect(() => evaluateCel(expression, { names, meter: createCelMeter(100_000) })).toThrow(CelLimitError);
  });

  it("is counted as upstream counts it", () => {
    const costOf = (source: string): number => {
      const meter = createCelMeter(1_000_000);
      evaluateCel(parseCel(source, CEL_NAMES), { names: { self: celValueOf(SELF, TYPE) }, meter });
      return Math.floor(meter.spent);
    };
    expect(costOf("self.size == 1")).toBe(3);
    expect(costOf("self.name.startsWith('web')")).toBe(3);
    expect(costOf("'a' in ['a', 'b', 'c']")).toBe(13);
    expect(costOf("self.name.contains('e')")).toBe(3);
  });

  it.each(["1 / 0 == 1 || a >= 0", "[0, 1].exists(b, 1 / b == 1)", "isIP('none') || a >= 0"])(
    "has the errors in it of which nothing is left: %s",
    (holds) => {
      const source = `lists.range(100).all(a, ${holds})`;
      const run = (limit: number) =>
        evaluateCel(parseCel(source, CEL_NAMES), { names: {}, meter: createCelMeter(limit) });
      expect(run(5_000)).toBe(true);
      expect(() => run(1_000)).toThrow(CelLimitError);
    },
  );

  it("has the rules of a time zone, and each of many matches, in it", () => {
    const zone = "[1, 2, 3, 4, 5].all(a, timestamp('2020-01-01T00:00:00Z').getHours('Europe/Berlin') == 1)";
    const matches = `'${"ab".repeat(500)}'.findAll('a').size() == 500`;
    for (const source of [zone, matches]) {
      const run = (limit: number) =>
        evaluateCel(parseCel(source, CEL_NAMES), { names: {}, meter: createCelMeter(limit) });
      expect(run(1_000)).toBe(true);
      expect(() => run(500)).toThrow(CelLimitError);
    }
  });

  it.each([
    ".distinct().size() > 0",
    ".map(a, optional.of(a)).distinct().size() > 0",
    ".flatten(100).size() > 0",
    ".map(a, '%s'.format([a])).size() > 0",
    ".all(a, [a] == [a])",
    ".all(a, a in [a])",
    ".all(a, sets.contains([a], [a]))",
    ".all(a, [a].indexOf(a) == 0)",
  ])("counts a list in each of its places, and looks at it once: %s", (end) => {
    const lists = `[[1, 2]]${".map(a, [a, a])".repeat(40)}`;
    const started = performance.now();
    const expression = parseCel(`${lists}${end}`, CEL_NAMES);
    expect(() => evaluateCel(expression, { names: {}, meter: createCelMeter(100_000) })).toThrow(CelLimitError);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it("is enough for what goes through a list once", () => {
    expect(evaluate("self.tags.all(a, a.startsWith('item'))", 100_000, many)).toBe(true);
  });

  it("matches patterns in linear time, and refuses unsupported syntax", () => {
    const text = `${"a".repeat(50_000)}!`;
    const self = celValueOf({ name: text }, TYPE);
    expect(evaluate("self.name.matches('^(a+)+$')", 1_000_000, self)).toBe(false);
    expect(evaluate("self.name.matches('^a+!$')", 1_000_000, self)).toBe(true);
    expect(evaluate("self.name.find('(a+)+!').size() == 50001", 1_000_000, self)).toBe(true);
    expect(() => evaluate("'xx'.matches('(x)\\\\1')")).toThrow("invalid matches argument");
    expect(() => evaluate("'xx'.matches(self.name + '(')")).toThrow(CelEvaluationError);
  });
});

describe("an expression with very many faults", () => {
  const source = `[${Array(20_000).fill("x").join()}].size() > 0`;

  it("is checked as far as a hundred of them, as by cel-go", () => {
    expect(checkCel(parseCel(source, CEL_NAMES), {}).faults).toHaveLength(100);
  });

  it.each([",", ",\n"])("is described in a short text (%j)", (separator) => {
    const many = `[${Array(20_000).fill("x").join(separator)}]`;
    const text = textOfSyntaxErrors(checkCel(parseCel(many, CEL_NAMES), {}).faults, many);
    expect(text).toMatch(/^ERROR: <input>:1:2: undeclared reference to 'x'/);
    expect(text.length).toBeLessThan(32_768);
  });

  it("is described with its line and a mark where that is short", () => {
    const many = "[a,\n 1 + b]";
    expect(textOfSyntaxErrors(checkCel(parseCel(many, CEL_NAMES), {}).faults, many)).toBe(
      "ERROR: <input>:1:2: undeclared reference to 'a' (in container '')\n | [a,\n | .^\n" +
        "ERROR: <input>:2:6: undeclared reference to 'b' (in container '')\n |  1 + b]\n | .....^",
    );
  });

  it("is not parsed beyond 100,000 characters, as by cel-go", () => {
    expect(() => parseCel(`'${"ä".repeat(99_998)}'`, CEL_NAMES)).not.toThrow();
    expect(() => parseCel(`'${"ä".repeat(99_999)}'`, CEL_NAMES)).toThrow(
      new CelSyntaxError("expression code point size exceeds limit: size: 100001, limit 100000", 0),
    );
  });
});

describe("operators in a row", () => {
  it("have no effect in pairs, however many there are", () => {
    expect(evaluate(`${"!".repeat(40_001)}false`)).toBe(true);
    expect(evaluate(`${"-".repeat(40_001)}(1) == -1`)).toBe(true);
    expect(evaluate(`${"-".repeat(40_001)}1 == -1`)).toBe(true);
    expect(evaluate(`${"!".repeat(40_000)}${"-".repeat(40_000)}1 == 1`)).toBe(true);
  });
});
