// Expected answers: k8s.io/apimachinery v0.32.1 pkg/apis/meta/v1/validation and pkg/apis/meta/internalversion/validation,
// in testdata/06c-request-options.json and testdata/06d-list-options.json.

import { describe, expect, it } from "vitest";
import type { FieldError } from "./field-error.ts";
import { validateLabelSelector } from "./labels.ts";
import { validateListOptions } from "./list-options.ts";
import { validateManagedFields } from "./managed-fields.ts";
import { validateCreateOptions, validateDeleteOptions, validatePatchOptions } from "./request-options.ts";
import requestVectors from "./testdata/06c-request-options.json" with { type: "json" };
import listVectors from "./testdata/06d-list-options.json" with { type: "json" };

const VALIDATORS: { readonly [kind: string]: (vector: any) => readonly FieldError[] } = {
  ValidateDeleteOptions: ({ options }) => validateDeleteOptions(options),
  ValidatePatchOptions: ({ options, patchType }) => validatePatchOptions(options, patchType),
  ValidateManagedFields: ({ managedFields }) => validateManagedFields(managedFields, "managedFields"),
  ValidateLabelSelector: ({ labelSelector }) => validateLabelSelector(labelSelector, "labelSelector"),
};

const sorted = (errors: readonly FieldError[]) =>
  [...errors].sort((a, b) => (a.field + a.message < b.field + b.message ? -1 : 1));

describe("request options", () => {
  it.each(requestVectors.cases as any[])("$id $kind is judged as upstream does", (vector) => {
    expect(sorted(VALIDATORS[vector.kind]!(vector))).toEqual(sorted(vector.errors));
  });

  it.each(listVectors.cases as any[])(
    "$id list options are judged as upstream does",
    ({ options, watchList, errors }) => {
      expect(sorted(validateListOptions(options, { watchList }))).toEqual(sorted(errors));
    },
  );

  it.each<[string, readonly FieldError[], string, string]>([
    [
      "a foreign dry run stage",
      validateCreateOptions({ dryRun: ["all"] }),
      "dryRun",
      'Unsupported value: ["all"]: supported values: "All"',
    ],
    [
      "an empty dry run stage",
      validateCreateOptions({ dryRun: [""] }),
      "dryRun",
      'Unsupported value: [""]: supported values: "All"',
    ],
    [
      "a long field manager",
      validateCreateOptions({ fieldManager: "m".repeat(129) }),
      "fieldManager",
      "Too long: may not be more than 128 bytes",
    ],
    [
      "a control character",
      validateCreateOptions({ fieldManager: "a\nb" }),
      "fieldManager",
      'Invalid value: "a\\nb": invalid character U+000A (at position 1)',
    ],
    [
      "a foreign field validation",
      validateCreateOptions({ fieldValidation: "Bogus" }),
      "fieldValidation",
      'Unsupported value: "Bogus": supported values: "", "Ignore", "Strict", "Warn"',
    ],
    [
      "a foreign propagation policy",
      validateDeleteOptions({ propagationPolicy: "Bogus" }),
      "propagationPolicy",
      'Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"',
    ],
    [
      "both propagation forms",
      validateDeleteOptions({ propagationPolicy: "Orphan", orphanDependents: true }),
      "propagationPolicy",
      'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
    ],
  ])("%s is refused", (_, errors, field, message) => {
    expect(errors).toEqual([expect.objectContaining({ field, message })]);
  });

  it("naming a dry run twice is fine", () => {
    expect(validateCreateOptions({ dryRun: ["All", "All"] })).toEqual([]);
  });
});
