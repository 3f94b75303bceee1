import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { equalJson } from "./equal-json.ts";
import { findDuplicateFields } from "./find-duplicate-fields.ts";
import type { JsonValue } from "./json-value.ts";
import { parseJson, parseWrittenJson } from "./parse-json.ts";
import { stringifyJson } from "./stringify-json.ts";

const utf8 = new TextEncoder();

describe("numbers", () => {
  it.each([
    ["0", 0],
    ["-0", -0],
    ["1.0", 1],
    ["1e3", 1000],
    ["9007199254740991", 9007199254740991],
    ["9007199254740993", 9007199254740993n],
    ["-9007199254740993", -9007199254740993n],
    ["9223372036854775807", 9223372036854775807n],
    ["-9223372036854775808", -9223372036854775808n],
    ["9223372036854775808", 2 ** 63],
    ["18446744073709551615", 2 ** 64],
    ["18446744073709551616", 2 ** 64],
    ["-9223372036854775809", -(2 ** 63)],
    ["0.1234567890123456789", 0.12345678901234568],
    ["1e100", 1e100],
    ["1e-400", 0],
  ])("reads %s", (text, value) => {
    expect(parseJson(text)).toBe(value);
    expect(parseJson(` [ {"a" : ${text} } ] `)).toEqual([{ a: value }]);
  });

  it("refuses what overflows a double instead of storing infinity", () => {
    expect(() => parseJson("[1e400]")).toThrow("json: cannot unmarshal number 1e400 into Go value of type float64");
    expect(() => parseJson("9".repeat(400))).toThrow("cannot unmarshal number 9999");
  });

  it("writes back exactly what it read", () => {
    const text = '{"a":9007199254740993,"b":[9223372036854775807,-9223372036854775808],"c":1.5}';
    expect(stringifyJson(parseJson(text))).toBe(text);
  });
});

describe("error messages of Go's encoding/json", () => {
  it.each([
    ["", "unexpected end of JSON input"],
    ["  ", "unexpected end of JSON input"],
    ["{", "unexpected end of JSON input"],
    ['{"a', "unexpected end of JSON input"],
    ['{"a"', "unexpected end of JSON input"],
    ["tru", "unexpected end of JSON input"],
    ["garbage", "invalid character 'g' looking for beginning of value"],
    ["apiVersion: v1", "invalid character 'a' looking for beginning of value"],
    ["\u001f\u008b", "invalid character '\\x1f' looking for beginning of value"],
    ["\ufeff{}", "invalid character 'ï' looking for beginning of value"],
    ["[1,]", "invalid character ']' looking for beginning of value"],
    ["{a:1}", "invalid character 'a' looking for beginning of object key string"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
    ["[1 2]", "invalid character '2' after array element"],
    ["{} x", "invalid character 'x' after top-level value"],
    ["01", "invalid character '1' after top-level value"],
    ["-", "unexpected end of JSON input"],
    ["-a", "invalid character 'a' in numeric literal"],
    ["1.x", "invalid character 'x' after decimal point in numeric literal"],
    ["1e+", "unexpected end of JSON input"],
    ["1ex", "invalid character 'x' in exponent of numeric literal"],
    ["nul!", "invalid character '!' in literal null (expecting 'l')"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ["[1é]", "invalid character 'Ã' after array element"],
    ["😀", "invalid character 'ð' looking for beginning of value"],
  ])("answers %j with: %s", (text, message) => {
    expect(() => parseJson(text)).toThrow(expect.objectContaining({ name: "JsonSyntaxError", message }));
    expect(() => parseJson(utf8.encode(text))).toThrow(message);
  });
});

describe("parseWrittenJson", () => {
  it("reads what stringifyJson wrote as parseJson does", () => {
    const numbers = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    );
    const texts = fc.oneof(fc.string(), fc.constantFrom("9007199254740993", ":9007199254740993", "1e400", '":'));
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        numbers,
        texts,
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(texts, tie("value"), { maxKeys: 3, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(fc.array(value), (values) => {
        const text = stringifyJson(values);
        expect(parseWrittenJson(text)).toEqual(parseJson(text));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("nesting", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

  it("accepts nesting up to the limit, and no deeper", () => {
    expect(() => parseJson(nested(1_000))).not.toThrow();
    expect(() => parseJson(nested(1_001))).toThrow("invalid character '[' exceeded max depth");
    expect(() => parseJson(nested(10_000), { maxDepth: 10_000 })).not.toThrow();
    expect(() => parseJson(nested(10_001), { maxDepth: 10_000 })).toThrow("exceeded max depth");
    expect(() => parseJson('{"a":'.repeat(1_000_000))).toThrow("invalid character '{' exceeded max depth");
  });

  it("counts arrays and objects, not brackets in strings", () => {
    expect(parseJson(`["${"[".repeat(50)}\\"[[["]`, { maxDepth: 2 })).toHaveLength(1);
    // The quote behind two backslashes ends the string, the one behind three does not.
    expect(() => parseJson(String.raw`["\\\\",[[[]]]]`, { maxDepth: 2 })).toThrow("exceeded max depth");
    expect(parseJson(String.raw`["\\\"[[[",[]]`, { maxDepth: 2 })).toHaveLength(2);
    expect(() => parseJson('[{"a":[]}]', { maxDepth: 2 })).toThrow("exceeded max depth");
    expect(parseJson('[{"a":[]}]', { maxDepth: 3 })).toEqual([{ a: [] }]);
  });

  it("parses exactly at any depth without recursion", () => {
    expect(() =>
      parseJson(`${"[".repeat(9_999)}9007199254740993${"]".repeat(9_999)}`, { maxDepth: 10_000 }),
    ).not.toThrow();
  });
});

describe("hostile members", () => {
  it.each(['{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":1},"n":9007199254740993}'])(
    "keeps __proto__ an own member of %s",
    (text) => {
      const value = parseJson(text) as { [k: string]: JsonValue };
      expect(Object.hasOwn(value, "__proto__")).toBe(true);
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect((value as { polluted?: unknown }).polluted).toBeUndefined();
      expect(stringifyJson(value)).toBe(text);
    },
  );

  // CVE-2026-21717: with predictable hashes these collide, and take minutes instead of milliseconds.
  it.each([1, 4096, 262_144, 16_777_216, 268_435_456])(
    "survives a megabyte of members that are multiples of %i",
    (n) => {
      const members = Array.from({ length: 80_000 }, (_, i) => `"${i * n}":1`).join(",");
      expect(Object.keys(parseJson(`{${members}}`) as object)).toHaveLength(80_000);
      expect(Object.keys(parseJson(`{${members},"x":1234567890123456}`) as object)).toHaveLength(80_001);
      expect(findDuplicateFields(`{${members}}`)).toEqual([]);
    },
  );

  it("takes the last of duplicate members", () => {
    expect(parseJson('{"a":1,"b":2,"a":3}')).toEqual({ a: 3, b: 2 });
  });
});

describe("against the native parser", () => {
  /** The native parser rounds where ours gives an exact integer. */
  const rounded = (value: JsonValue): JsonValue => JSON.parse(stringifyJson(value)) as JsonValue;

  it("agrees on every JSON value", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        // The long number forces the exact parser without changing the rest.
        const exact = parseJson(`[${text},12345678901234567]`) as JsonValue[];
        const native = JSON.parse(text) as JsonValue;
        return equalJson(rounded(exact[0] ?? null), native) && equalJson(rounded(parseJson(text)), native);
      }),
    );
  });

  it("accepts and refuses the same mutated texts", () => {
    const mutated = fc
      .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.constantFrom("", ",", '"', "\\", "{", "]", "1", "e", "-", "\u0000"))
      .map(([text, at, piece]) => {
        const i = at % (text.length + 1);
        return text.slice(0, i) + piece + text.slice(i + 1);
      });
    const attempt = (f: () => unknown) => {
      try {
        f();
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(mutated, (text) => {
        // Numbers that overflow a double are refused by ours alone; the native parser gives infinity.
        fc.pre(!/\d[eE]\+?\d{3}/.test(text));
        const padded = `[${text},1234567890123456]`;
        expect(attempt(() => parseJson(padded, { maxDepth: 100 }))).toBe(attempt(() => JSON.parse(padded)));
      }),
      { numRuns: 500 },
    );
  });
});
