import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { equalJson } from "../json/equal-json.ts";
import type { JsonValue } from "../json/json-value.ts";
import { compareYamlKeys } from "./compare-yaml-keys.ts";
import { decodeYaml } from "./decode-yaml.ts";
import { encodeYaml } from "./encode-yaml.ts";

describe("encodeYaml", () => {
  it("prints an object as kubectl does", () => {
    const object = {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "a", labels: {}, finalizers: [], creationTimestamp: null },
      data: { b: "two\nlines\n", a: "yes", c: "a: b", "1": "it's" },
      list: [{ z: 1, a: [1, [2, 3]] }, "x", 9007199254740993n, 1.5, true, "- a"],
    };
    expect(encodeYaml(object)).toBe(`apiVersion: v1
data:
  "1": it's
  a: "yes"
  b: |
    two
    lines
  c: 'a: b'
kind: ConfigMap
list:
- a:
  - 1
  - - 2
    - 3
  z: 1
- x
- 9007199254740993
- 1.5
- true
- '- a'
metadata:
  creationTimestamp: null
  finalizers: []
  labels: {}
  name: a
`);
  });

  const hostile = [
    "",
    " ",
    "~",
    "yes",
    "NO",
    "on",
    "null",
    "010",
    "0x1",
    "0o7",
    "1_0",
    "1e3",
    "-.inf",
    ".5",
    "+1",
    "=",
    "<<",
    "y",
    "2001-01-01",
    "1:20",
    "- a",
    "-",
    "--",
    "---",
    "--- a",
    "...",
    "? a",
    "?",
    ": a",
    ":",
    "a:",
    "a: b",
    "a #b",
    "#a",
    "&a",
    "*a",
    "!a",
    "!!int 1",
    "|",
    ">",
    "%a",
    "@a",
    "`a",
    "'",
    "''",
    '"',
    "{",
    "}",
    "[]",
    ",",
    "[a",
    " a",
    "a ",
    "\ta",
    "a\tb",
    "\n",
    "\n\n",
    "a\n",
    "a\n\n",
    "a\n\n\n",
    "\na",
    " a\nb",
    "a\n b\n",
    "a \nb",
    "a\n\tb",
    "a\n---\nb",
    "a\r\nb",
    "\r",
    "\0",
    "\u0007",
    "\u001b[31m",
    "\u007f",
    "\u0085",
    "\u00a0",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\ufffe",
    "é",
    "😀",
    "日本語",
    "a\\b",
    'a"b',
    "# a\nb",
    "- a\n- b",
    "key: |\n  x",
    "x".repeat(2000),
    "a: ".repeat(600),
    `${"long ".repeat(400)}end`,
    "__proto__",
    "constructor",
    "1.",
    "0b1",
    "08",
    "1__",
    "._1",
    "-0",
    "12e",
    "0x_1",
  ];

  it.each(hostile)("carries %j as value, item, key and document", (text) => {
    const value = { [text]: text, list: [text, { [text]: [text] }], nested: { a: { b: text } } };
    expect(decodeYaml(encodeYaml(value)).value).toEqual(value);
    expect(decodeYaml(encodeYaml(text)).value).toBe(text);
    // A reader of YAML 1.2 is to see the same.
    expect(parse(encodeYaml([text]), { version: "1.2" })).toEqual([text]);
  });

  it("writes the replacement character for a lone surrogate", () => {
    expect(decodeYaml(encodeYaml(["a\ud800b"])).value).toEqual(["a\ufffdb"]);
  });

  it.each(hostile)("carries %j at a depth where values are in flow style", (text) => {
    let value: JsonValue = { [text]: text, list: [text, { [text]: [text] }], empty: [{}, []], null: null, n: 1.5 };
    for (let depth = 0; depth < 80; depth++) value = depth % 2 === 0 ? [value] : { a: value, [text]: depth };
    expect(decodeYaml(encodeYaml(value), { maxDepth: 1000 }).value).toEqual(value);
    expect(parse(encodeYaml(value), { version: "1.2" })).toEqual(value);
  });

  it.each([
    ["long arrays", Array.from({ length: 10_000 }, () => 1)],
    ["texts of many lines", "a\n".repeat(10_000)],
  ])("is not many times as long as an object with deep %s", (_, content) => {
    for (const depth of [20, 60, 900]) {
      let value: JsonValue = content;
      for (let level = 0; level < depth; level++) value = [value];
      const text = encodeYaml(value);
      expect(decodeYaml(text, { maxDepth: 1000, maxLength: Number.POSITIVE_INFINITY }).value).toEqual(value);
      expect(text.length).toBeLessThan(10_000 * (2 * 64 + 4));
      if (typeof content === "string") expect(text.length).toBeLessThan(6 * content.length);
    }
  });

  it("gives back every JSON value", () => {
    const piece = fc.oneof(
      fc.constantFrom(...hostile.filter((text) => text.length < 20)),
      fc.string({ unit: "binary", maxLength: 4 }),
    );
    const text = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join("").replace(/[\ud800-\udfff]/gu, ""));
    // A double beyond 2^53 prints as its shortest digits, which read back as another integer.
    const double = fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) > 1e21);
    const tree = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: "medium" },
        text,
        double,
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.constantFrom(true, false, null),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
      ),
    })).value;
    fc.assert(
      fc.property(tree, (value) => equalJson(decodeYaml(encodeYaml(value), { maxDepth: 1000 }).value, value)),
      { numRuns: 2000 },
    );
  });
});

describe("compareYamlKeys", () => {
  it("sorts names as people count", () => {
    const sorted = ["", "_a", "1", "2", "10", "A", "a", "a-b", "a1", "a2", "a10", "a10b", "ab", "b"];
    expect([...sorted].reverse().sort(compareYamlKeys)).toEqual(sorted);
  });
});
