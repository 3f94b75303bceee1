// Expected answers: k8s.io/apimachinery v0.32.1 pkg/util/validation and pkg/api/validation/path, in testdata/06b-string-validators.json,
// with the texts that 1.36 changed.

import { describe, expect, it } from "vitest";
import * as validators from "./string-validators.ts";
import { isConfigMapKey, isQualifiedName, type StringValidator } from "./string-validators.ts";
import vectors from "./testdata/06b-string-validators.json" with { type: "json" };

const FUNCTIONS: { readonly [upstream: string]: StringValidator } = {
  IsDNS1123Label: validators.isDNS1123Label,
  IsDNS1123Subdomain: validators.isDNS1123Subdomain,
  IsWildcardDNS1123Subdomain: validators.isWildcardDNS1123Subdomain,
  IsDNS1035Label: validators.isDNS1035Label,
  IsQualifiedName: validators.isQualifiedName,
  IsValidLabelValue: validators.isValidLabelValue,
  IsConfigMapKey: validators.isConfigMapKey,
  "path.IsValidPathSegmentName": validators.isValidPathSegmentName,
  "path.IsValidPathSegmentPrefix": validators.isValidPathSegmentPrefix,
};

function validatorOf(fn: string, args: readonly unknown[] | undefined): StringValidator {
  if (fn !== "path.ValidatePathSegmentName") return FUNCTIONS[fn]!;
  return args?.[1] === true ? validators.isValidPathSegmentPrefix : validators.isValidPathSegmentName;
}

describe("string validators", () => {
  it.each(vectors.cases as any[])("$id: $fn($value) answers as upstream", ({ fn, args, value, errors }) => {
    expect(validatorOf(fn, args)(value ?? args[0])).toEqual(errors);
  });

  it.each([
    ["..a", ["must not start with '..'"]],
    ["..", ["must not be '..'"]],
  ])("a config key %s may not leave its directory", (key, faults) => {
    expect(isConfigMapKey(key)).toEqual(faults);
  });

  it("measures length in bytes, not in UTF-16 units", () => {
    expect(isQualifiedName("é".repeat(40))[0]).toBe("name part must be no more than 63 bytes");
  });

  it("a very long hostile name is refused without backtracking", () => {
    expect(isQualifiedName(`${"a-".repeat(500_000)}/x`)).toHaveLength(2);
  });
});
