// Vectors of structured-merge-diff v6.4.2, fieldpath/serialize_test.go and serialize-pe_test.go.

import { parseJson } from "@postern/apimachinery/json/parse-json";
import { describe, expect, it } from "vitest";
import { pathsOf } from "./field-set.ts";
import { parseFieldsV1, toFieldsV1 } from "./fields-v1.ts";
import { formatFieldPath, formatPathElement, parsePathElement } from "./path-element.ts";
import vectors from "./testdata/fields-v1.json" with { type: "json" };

type Case = (typeof vectors.cases)[number] & {
  canonical?: string;
  error?: string;
  paths?: string[];
  string?: string;
};

const casesOf = (kind: string): Case[] => vectors.cases.filter((vector) => vector.kind === kind);

describe("FieldsV1", () => {
  it.each(casesOf("fromJSON"))("reads and writes a set as upstream does: $id", ({ input, canonical, error, paths }) => {
    if (error !== undefined) {
      expect(() => parseFieldsV1(parseJson(input))).toThrow();
      return;
    }
    const set = parseFieldsV1(parseJson(input));
    expect(JSON.stringify(toFieldsV1(set))).toBe(canonical);
    expect(pathsOf(set).map((path) => formatFieldPath(path))).toEqual(paths);
  });

  it.each(casesOf("pathElement"))("reads and prints a path element as upstream does: $id", (vector) => {
    if (vector.error !== undefined) {
      const read = () => {
        if (parsePathElement(vector.input) === undefined) throw new Error("unknown path element type");
      };
      expect(read).toThrow();
      return;
    }
    const element = parsePathElement(vector.input);
    expect(element).toBe(vector.canonical);
    expect(formatPathElement(element!)).toBe(vector.string);
  });

  it("reads back what it wrote, with integers that a double cannot hold", () => {
    const fields = { "f:a": { ".": {}, "v:9007199254740993": {} } };
    expect(toFieldsV1(parseFieldsV1(fields))).toEqual(fields);
  });

  it("refuses a set that is nested deeper than any schema", () => {
    let fields: object = {};
    for (let depth = 0; depth < 2000; depth++) fields = { "f:a": fields };
    expect(() => parseFieldsV1(fields as never)).toThrow("field set");
  });
});
