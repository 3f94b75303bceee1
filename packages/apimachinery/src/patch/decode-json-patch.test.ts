import { describe, expect, it } from "vitest";
import { decodeJsonPatch } from "./decode-json-patch.ts";

describe("decodeJsonPatch", () => {
  it("reads operations and drops nulls, which count as absent", () => {
    const text = '[{"op":"add","path":"/a","value":9007199254740993},{"op":"copy","from":null,"path":"/b"},null]';
    expect(decodeJsonPatch(text)).toEqual({
      operations: [{ op: "add", path: "/a", value: 9007199254740993n }, { op: "copy", path: "/b" }, {}],
      strictErrors: [],
    });
    expect(decodeJsonPatch("null").operations).toEqual([]);
  });

  it("names duplicate and unknown members for field validation", () => {
    const text = '[{"op":"add","op":"add","path":"/spec/user","value":"x","foo":"bar"}]';
    expect(decodeJsonPatch(text).strictErrors).toEqual([
      'json patch duplicate field "[0].op"',
      'json patch unknown field "[0].foo"',
    ]);
  });

  it.each([
    ["", "error decoding patch: unexpected end of JSON input"],
    ["garbage", "error decoding patch: invalid character 'g' looking for beginning of value"],
    ["{}", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"],
    ['"x"', "error decoding patch: json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp"],
    ["[true]", "error decoding patch: json: cannot unmarshal bool into Go value of type handlers.jsonPatchOp"],
    ["[[]]", "error decoding patch: json: cannot unmarshal array into Go value of type handlers.jsonPatchOp"],
    [
      '[{"op":1}]',
      "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
    ],
  ])("refuses %j: %s", (text, message) => {
    expect(() => decodeJsonPatch(text)).toThrow(expect.objectContaining({ name: "PatchDecodeError", message }));
  });
});
