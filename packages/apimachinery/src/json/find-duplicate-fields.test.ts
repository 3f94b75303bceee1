import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findDuplicateFields, MAX_STRICT_ERRORS } from "./find-duplicate-fields.ts";

describe("findDuplicateFields", () => {
  it.each<[string, string[]]>([
    ["{}", []],
    ['{"a":{"a":{"a":1}}}', []],
    ['{"spec":{"user":"a","user":"b"}}', ["spec.user"]],
    ['{"spec":{"user":"a", "user" :"b", "user"\n:"c"}}', ["spec.user"]],
    ['{"spec":{"scope":{"projects":[{"x":1},{"x":1,"x":2}]}}}', ["spec.scope.projects[1].x"]],
    ['[{"op":"add","op":"add"}]', ["[0].op"]],
    ['{"a":[[1,2],[{"b":1,"b":2}]]}', ["a[1][0].b"]],
    ['{"a":"a","b":["a","a"],"a":"\\"a\\":"}', ["a"]],
    ['{"\\u0061":1,"a":2}', ["a"]],
    ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
    ['{"a":{"b":1,"b":2},"a":{"b":1,"b":2}}', ["a.b", "a"]],
    ['"text"', []],
    ["1", []],
  ])("finds in %s: %j", (text, expected) => {
    expect(findDuplicateFields(text)).toEqual(expected);
  });

  it("stops after as many as upstream collects", () => {
    const members = Array.from({ length: 300 }, (_, i) => `"f${i}":1,"f${i}":2`).join(",");
    expect(findDuplicateFields(`{${members}}`)).toHaveLength(MAX_STRICT_ERRORS);
  });

  it("finds nothing in what JSON.stringify wrote", () => {
    fc.assert(fc.property(fc.json(), (text) => findDuplicateFields(text).length === 0));
  });
});
