// Checks field manager names and the entries of metadata.managedFields.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go

import { quoteGo } from "../text/go-quote.ts";
import { byteLength } from "./byte-length.ts";
import { childPath, type FieldError, indexPath, invalidError, tooLongError } from "./field-error.ts";

/** Bytes. */
export const FIELD_MANAGER_MAX_LENGTH = 128;
/** Bytes. */
const SUBRESOURCE_MAX_LENGTH = 256;

/** Form that decoding accepts: operation and fieldsType may hold any text. */
type ReceivedEntry = {
  readonly manager?: string;
  readonly operation?: string;
  readonly fieldsType?: string;
  readonly subresource?: string;
};

export function validateFieldManager(manager: string, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (byteLength(manager) > FIELD_MANAGER_MAX_LENGTH) errors.push(tooLongError(path, FIELD_MANAGER_MAX_LENGTH));
  if (PLAIN_TEXT.test(manager)) return errors;
  let position = 0;
  for (const char of manager) {
    if (!isPrintable(char)) {
      errors.push(invalidError(path, manager, `invalid character ${codePointName(char)} (at position ${position})`));
    }
    position += byteLength(char);
  }
  return errors;
}

export function validateManagedFields(
  entries: readonly ReceivedEntry[] | undefined,
  path: string,
): readonly FieldError[] {
  return (entries ?? []).flatMap((entry, index) => validateEntry(entry, indexPath(path, index)));
}

function validateEntry(
  { manager = "", operation = "", fieldsType = "", subresource = "" }: ReceivedEntry,
  path: string,
) {
  const errors: FieldError[] = [];
  if (operation !== "Apply" && operation !== "Update") {
    errors.push(invalidError(childPath(path, "operation"), operation, "must be `Apply` or `Update`"));
  }
  if (fieldsType !== "" && fieldsType !== "FieldsV1") {
    errors.push(invalidError(childPath(path, "fieldsType"), fieldsType, "must be `FieldsV1`"));
  }
  errors.push(...validateFieldManager(manager, childPath(path, "manager")));
  if (byteLength(subresource) > SUBRESOURCE_MAX_LENGTH) {
    errors.push(tooLongError(childPath(path, "subresource"), SUBRESOURCE_MAX_LENGTH));
  }
  return errors;
}

const PLAIN_TEXT = /^[ -~]*$/;

/** Quoting escapes exactly what Go does not take for printable, and the two characters that quoting itself needs. */
const isPrintable = (char: string): boolean => char === '"' || char === "\\" || quoteGo(char) === `"${char}"`;

const codePointName = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
