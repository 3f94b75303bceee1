import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemberReader, type MemberSelection } from "./read-members.ts";

const NAMES = ["a", "b", "name", "uid", "spec", "käse", "metadata", "", "__proto__x"];
const name = fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: "binary", maxLength: 4 }));
const text = fc.oneof(
  fc.constantFrom("", "admin", '"', "\\", 'x\\"', "\\\\", "ä", "\u{1f600}", "\n", "{", "]", ",", "x".repeat(40)),
  fc.string({ unit: "binary" }),
  fc.array(fc.constantFrom("\\", '"', "x".repeat(30)), { maxLength: 5 }).map((parts) => parts.join("")),
);
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger());
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 5, noNullPrototype: true }),
  ),
}));
const object = fc.dictionary(name, value, { maxKeys: 6, noNullPrototype: true });
const selectedName = fc.constantFrom(...NAMES.filter((each) => each !== "käse"));
const { selection } = fc.letrec<{ selection: MemberSelection }>((tie) => ({
  selection: fc.dictionary(selectedName, fc.oneof({ maxDepth: 3 }, fc.constant(true as const), tie("selection")), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
}));

/** In the middle of other bytes, as it is in a slab. */
function read(reader: ReturnType<typeof createMemberReader>, json: string): JsonValue {
  const bytes = Buffer.from(json);
  const memory = Buffer.concat([Buffer.from('"}'), bytes, Buffer.from('"a":1}')]);
  return reader.read(memory, 2, 2 + bytes.length);
}

describe("createMemberReader", () => {
  it("gives what parsing all of it and selecting gives", () => {
    let selected = 0;
    fc.assert(
      fc.property(fc.array(object, { minLength: 1, maxLength: 4 }), selection, (objects, wanted) => {
        const reader = createMemberReader(wanted);
        // One after the other, since a reader remembers texts.
        for (const each of objects) {
          const json = JSON.stringify(each);
          const expected = createMemberReader(wanted).select(parseJson(json));
          selected += Object.keys(expected).length;
          expect(read(reader, json)).toEqual(expected);
        }
      }),
      { numRuns: 800 },
    );
    expect(selected).toBeGreaterThan(100);
  });

  it("parses what has spaces in it as a whole", () => {
    fc.assert(
      fc.property(object, selection, (each, wanted) => {
        const json = JSON.stringify(each, undefined, 1);
        expect(read(createMemberReader(wanted), json)).toEqual(createMemberReader(wanted).select(parseJson(json)));
      }),
    );
  });

  it("keeps whole numbers that a double would round", () => {
    const reader = createMemberReader({ a: true, b: { c: true } });
    const json = '{"x":{"a":1},"a":9007199254740993,"b":{"d":[1],"c":-9223372036854775808}}';
    expect(read(reader, json)).toEqual({ a: 9007199254740993n, b: { c: -9223372036854775808n } });
  });

  it("returns a repeated text again, and a different one in its place", () => {
    const reader = createMemberReader({ user: true });
    const users = ["admin", "admin", "adm1n", "ad", ""];
    expect(users.map((user) => read(reader, JSON.stringify({ user })))).toEqual(users.map((user) => ({ user })));
  });

  it.each([
    "",
    "[]",
    "{",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":"x',
    '{"a":{"b":1}',
    '{"a":"\\"}',
    '{"b":[1,{"c":"]"},"a":1}',
  ])("neither hangs nor invents members on %j", (json) => {
    let whole: JsonValue | undefined;
    try {
      whole = parseJson(json);
    } catch {}
    const reader = createMemberReader({ a: { z: true }, q: true });
    if (whole === undefined) expect(() => read(reader, json)).toThrow();
    else expect(isJsonObject(read(reader, json))).toBe(true);
  });
});
