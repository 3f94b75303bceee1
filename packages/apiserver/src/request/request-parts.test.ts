// Vectors: what selectors and names in the inputs of requestinfo_test.go (k8s.io/apiserver v0.32.1) come to.
import { parseFieldSelector } from "@postern/apimachinery/selectors/field-selector";
import { parseLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import {
  isQualifiedName,
  isValidLabelValue,
  isValidPathSegmentName,
} from "@postern/apimachinery/validation/string-validators";
import { describe, expect, it } from "vitest";
import vectors from "./testdata/request-parts.json" with { type: "json" };

const VALIDATORS: { readonly [fn: string]: (value: string) => readonly string[] } = {
  IsQualifiedName: isQualifiedName,
  IsValidLabelValue: isValidLabelValue,
  "path.IsValidPathSegmentName": isValidPathSegmentName,
};
const cases = vectors.cases as readonly any[];

describe("selectors and names of requests", () => {
  it.each(cases.filter(({ fn }) => fn !== undefined))("$id: $fn($value)", ({ fn, value, errors }) => {
    expect(VALIDATORS[fn]?.(value)).toEqual(errors ?? []);
  });

  it.each(cases.filter(({ kind }) => kind === "parse"))("$id: $input", ({ input, canonical, requirements, error }) => {
    const parse = requirements?.[0]?.key === undefined ? parseFieldSelector : parseLabelSelector;
    if (error === undefined) expect(parse(input)).toMatchObject({ text: canonical, requirements });
    else expect(() => parse(input)).toThrow(expect.objectContaining({ message: error }));
  });
});
