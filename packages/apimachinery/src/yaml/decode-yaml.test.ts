import { describe, expect, it, vi } from "vitest";
import { Parser } from "yaml";
import type { JsonValue } from "../json/json-value.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { decodeYaml } from "./decode-yaml.ts";

const decode = (text: string): JsonValue => decodeYaml(text).value;

describe("scalars of YAML 1.1 as Go reads them", () => {
  it.each<[string, JsonValue]>([
    ["y", true],
    ["yes", true],
    ["On", true],
    ["TRUE", true],
    ["n", false],
    ["off", false],
    ["oN", "oN"],
    ["~", null],
    ["null", null],
    ["", null],
    ["nULL", "nULL"],
    ["010", 8],
    ["0o10", 8],
    ["0x10", 16],
    ["-0x10", -16],
    ["0b101", 5],
    ["08", 8],
    ["1_000", 1000],
    ["+12", 12],
    ["1e3", 1000],
    ["1.50", 1.5],
    [".5", 0.5],
    ["1.", 1],
    ["1e400", "1e400"],
    ["9007199254740993", 9007199254740993n],
    ["9223372036854775807", 9223372036854775807n],
    ["18446744073709551615", 2 ** 64],
    ["0xffffffffffffffff", 2 ** 64],
    ["18446744073709551616", 2 ** 64],
    ["1:30", "1:30"],
    ["190:20:30", "190:20:30"],
    ["2001-12-14", "2001-12-14"],
    ["2001-12-14T21:59:43.10-05:00", "2001-12-14T21:59:43.10-05:00"],
    ["1.2.3", "1.2.3"],
    ["0x", "0x"],
    ["-", [null]],
    ["'010'", "010"],
    ['"yes"', "yes"],
    ["!!str 010", "010"],
    ["!!int '12'", 12],
    ["!!float 1", 1],
    ["!!bool 'yes'", true],
    ["!!binary aGVsbG8=", "hello"],
    ["!custom x", "x"],
    ["= ", "="],
  ])("reads %s", (text, value) => {
    expect(decode(text)).toEqual(value);
    if (text !== "-" && text !== "") expect(decode(`a: ${text}`)).toEqual({ a: value });
  });

  it.each([[".inf"], ["-.Inf"], [".NaN"], ["!!int x"], ["!!bool 1"], ["!!binary '*'"]])("refuses %s", (text) => {
    expect(() => decode(text)).toThrow(expect.objectContaining({ name: "YamlError" }));
  });
});

describe("keys", () => {
  it("become strings", () => {
    expect(decode("1: a\n1.5: b\non: c\n0x10: d\n9007199254740993: e\n'2': f")).toEqual({
      "1": "a",
      "1.5": "b",
      true: "c",
      "16": "d",
      "9007199254740993": "e",
      "2": "f",
    });
  });

  it.each(["~: a", "[1]: a", "? {a: 1}\n: b"])("refuse %j", (text) => {
    expect(() => decode(text)).toThrow("map key");
  });

  it("never reach the prototype", () => {
    const value = decode("__proto__:\n  polluted: 1\nconstructor: x");
    expect(stringifyJson(value)).toBe('{"__proto__":{"polluted":1},"constructor":"x"}');
    expect(stringifyJson(decode("<<: {__proto__: {polluted: 1}}\na: 1"))).toContain('"__proto__":{"polluted":1}');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("given twice are reported by line, and the last one wins", () => {
    const text =
      "apiVersion: v1\nkind: X\nmetadata:\n  name: fv\nspec:\n  user: a\n  user: b\n  list:\n  - 1: x\n    1: w\n";
    expect(decodeYaml(text)).toEqual({
      value: { apiVersion: "v1", kind: "X", metadata: { name: "fv" }, spec: { user: "b", list: [{ "1": "w" }] } },
      duplicates: ['line 7: key "user" already set in map', "line 10: key 1 already set in map"],
    });
  });

  it("given twice in a JSON text are reported by line as well", () => {
    expect(decodeYaml('{"a":1,\n"a":2}')).toEqual({
      value: { a: 2 },
      duplicates: ['line 2: key "a" already set in map'],
    });
  });
});

describe("documents", () => {
  it("after the first are not looked at", () => {
    expect(decode("a: 1\n---\nb: [")).toEqual({ a: 1 });
    expect(decode("%YAML 1.1\n---\na: 1\n...\n---\n}{")).toEqual({ a: 1 });
    expect(decode("--- \n---\na: 1")).toBeNull();
    expect(decode("# only a comment")).toBeNull();
  });

  it("in JSON are read as JSON", () => {
    expect(decode(' {"a":9007199254740993,"b":"\\ud83d\\ude00"}')).toEqual({ a: 9007199254740993n, b: "😀" });
    expect(decode("{a: b, c: [1, x]}")).toEqual({ a: "b", c: [1, "x"] });
  });
});

describe("anchors and merges", () => {
  it.each<[string, string, JsonValue]>([
    ["an alias", "a: &x {b: 1}\nc: *x", { a: { b: 1 }, c: { b: 1 } }],
    ["a merge", "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3", { a: { b: 1, c: 2 }, d: { b: 1, c: 3 } }],
    ["a merge behind its overrides", "d:\n  c: 3\n  <<: {b: 1, c: 2}", { d: { b: 1, c: 3 } }],
    ["a merge of many, first wins", "<<: [{a: 1}, {a: 2, b: 2}]", { a: 1, b: 2 }],
    ["a quoted << as a key", '"<<": x', { "<<": "x" }],
  ])("%s", (_, text, value) => {
    expect(decode(text)).toEqual(value);
  });

  it.each([
    ["a: *x", "yaml: unknown anchor 'x' referenced"],
    ["a:\n  b: &x [*x]", "yaml: anchor 'x' value contains itself"],
    ["<<: 1", "yaml: map merge requires map or sequence of maps as the value"],
  ])("refuses %j: %s", (text, message) => {
    expect(() => decode(text)).toThrow(expect.objectContaining({ name: "YamlError", message }));
  });
});

describe("hostile texts", () => {
  it("refuses alias bombs without expanding them (CVE-2019-11253)", () => {
    const bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
    for (let i = 1; i < 12; i++)
      bomb.push(
        `a${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(", ")}]`,
      );
    expect(() => decode(bomb.join("\n"))).toThrow("yaml: document contains excessive aliasing");
  });

  it("counts the text that aliases repeat", () => {
    const text = `a: &a ${"x".repeat(10_000)}\nb: [${Array(20).fill("*a").join(", ")}]`;
    expect(() => decode(text)).toThrow("excessive aliasing");
    expect(decodeYaml(text, { maxAliasedSize: 1_000_000 }).value).toHaveProperty("b");
  });

  it.each([
    ["flow", `x: ${"[".repeat(300)}${"]".repeat(300)}`],
    ["unclosed flow", "[".repeat(100_000)],
    ["block", `${"- ".repeat(5_000)}x`],
    ["flow mappings", "{a: ".repeat(20_000)],
    ["explicit keys", "? ".repeat(20_000)],
    ["blocks that end", `${"- ".repeat(5_000)}x\nb: c`],
    ["lists and explicit keys by turns", `${"- ? ".repeat(5_000)}x\n- b`],
    ["explicit values", `${"? ".repeat(5_000)}${": ".repeat(5_000)}`],
    ["lists in flow lists", "[- ".repeat(20_000)],
    ["JSON", `${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}`],
    [
      "aliases that nest",
      [
        "a0: &a0 [[[[[[[[[[x]]]]]]]]]]",
        ...Array.from({ length: 40 }, (_, i) => `a${i + 1}: &a${i + 1} [[[[[[*a${i}]]]]]]`),
      ].join("\n"),
    ],
  ])("refuses deep %s", (_, text) => {
    expect(() => decode(text)).toThrow(expect.objectContaining({ name: "YamlError" }));
  });

  it.each([
    ["flow", "[".repeat(500_000)],
    ["block", `${"- ".repeat(400_000)}x\nb: c`],
    ["explicit keys", `${"? ".repeat(400_000)}x\nb: c`],
    ["mappings", "{a: ".repeat(200_000)],
    ["JSON", '{"a":'.repeat(150_000)],
  ])("stops reading deep %s at the limit, before anything calls itself for each level", (_, text) => {
    const read = vi.spyOn(Parser.prototype, "next");
    expect(() => decodeYaml(text, { maxDepth: 10 })).toThrow("yaml: exceeded max depth");
    expect(read.mock.calls.length).toBeLessThan(100);
    read.mockRestore();
  });

  it("accepts many that stand side by side", () => {
    expect(decode(`${"- [[], {a: [b]}]\n".repeat(1_000)}`)).toHaveLength(1_000);
    expect(decode(Array.from({ length: 190 }, (_, i) => `${" ".repeat(i)}a:\n`).join(""))).toHaveProperty("a");
  });

  it("accepts nesting up to the limit", () => {
    expect(() => decodeYaml(`x: ${"[".repeat(9)}${"]".repeat(9)}`, { maxDepth: 10 })).not.toThrow();
    expect(() => decodeYaml(`x: ${"[".repeat(10)}${"]".repeat(10)}`, { maxDepth: 10 })).toThrow("exceeded max depth");
  });

  it("refuses long texts before it parses them", () => {
    expect(() => decodeYaml(`a: ${"x".repeat(100)}`, { maxLength: 100 })).toThrow("yaml: text is longer than 100");
  });

  it.each([
    // Faults of the scanner name their line, but not the first; faults of the parser name the line before.
    ["a: b: c", "yaml: mapping values are not allowed in this context"],
    ["a: b\nc: d: e", "yaml: line 2: mapping values are not allowed in this context"],
    ["a: 1\n b: 2", "yaml: line 2: mapping values are not allowed in this context"],
    ["a\nb: c", "yaml: line 2: mapping values are not allowed in this context"],
    ["a: 1\nfoo\nbar: 2", "yaml: line 3: could not find expected ':'"],
    ["a: |\n x\ny", "yaml: line 3: could not find expected ':'"],
    ["- a: b\n  c\n- d", "yaml: line 3: could not find expected ':'"],
    ["\ta: b", "yaml: found character that cannot start any token"],
    ["a:\n\t- b", "yaml: line 2: found character that cannot start any token"],
    ["a: @b", "yaml: found character that cannot start any token"],
    ["{", "yaml: did not find expected node content"],
    ["a: [\n", "yaml: line 1: did not find expected node content"],
    ["a: {b: c,", "yaml: did not find expected node content"],
    ["a: ]", "yaml: did not find expected node content"],
    ["a: [1", "yaml: did not find expected ',' or ']'"],
    ["{a: [1], b", "yaml: did not find expected ',' or '}'"],
    ["{a: b\nc: d", "yaml: line 1: did not find expected ',' or '}'"],
    ["a: [b\nc: d", "yaml: line 1: did not find expected ',' or ']'"],
    ['a: "x', "yaml: found unexpected end of stream"],
    ["a: 'x\n\n", "yaml: line 3: found unexpected end of stream"],
    ['a: "\\q"', "yaml: found unknown escape character"],
    ['a: "\\xzz"', "yaml: did not find expected hexdecimal number"],
    ["a:\n  b: c\n d: e", "yaml: line 2: did not find expected key"],
    ["a: b\n- c", "yaml: line 1: did not find expected key"],
    ['a: "b" c', "yaml: did not find expected key"],
    ["a: [1]]", "yaml: did not find expected key"],
    ["- a\nb: c", "yaml: line 1: did not find expected '-' indicator"],
    ["a: - b", "yaml: block sequence entries are not allowed in this context"],
    ["a: &", "yaml: did not find expected alphabetic or numeric character"],
    ["a: |x", "yaml: did not find expected comment or line break"],
    ["%x", "yaml: found unknown directive name"],
    ["%", "yaml: "],
    ["a: \x07", "yaml: control characters are not allowed"],
    ["{{ .x }}: y", 'yaml: invalid map key: map[interface {}]interface {}{".x":interface {}(nil)}'],
  ])("refuses %j: %s", (text, message) => {
    expect(() => decode(text)).toThrow(expect.objectContaining({ name: "YamlError" }));
    expect(() => decode(text)).toThrow(message);
  });

  it("ignores text after the first document", () => {
    expect(decode("a: b\n...\n]")).toEqual({ a: "b" });
    expect(decode("a: b\n---\nc: d: e")).toEqual({ a: "b" });
  });
});
