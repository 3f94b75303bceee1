// Common parts of the two kinds that hold data by key: valid keys, a size limit, and immutability on request.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidateSecret, ValidateConfigMap)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { byteLength } from "@postern/apimachinery/validation/byte-length";
import { type FieldError, forbiddenError, keyPath, tooLongError } from "@postern/apimachinery/validation/field-error";
import { isConfigMapKey } from "@postern/apimachinery/validation/string-validators";
import { textFaults } from "../field-checks.ts";

/** Bytes of all values together. */
export const MAX_DATA_SIZE = 1024 * 1024;

type Data = { readonly [key: string]: string } | undefined;

export const validateKeys = (data: Data, path: string): readonly FieldError[] =>
  Object.keys(data ?? {}).flatMap((key) => textFaults(keyPath(path, key), key, isConfigMapKey));

/** Decoded length of base64 texts, in bytes. */
export const decodedSize = (data: Data): number => sizeOf(data, (text) => Buffer.byteLength(text, "base64"));

export const textSize = (data: Data): number => sizeOf(data, byteLength);

function sizeOf(data: Data, size: (text: string) => number): number {
  let sum = 0;
  for (const key of Object.keys(data ?? {})) sum += size(data?.[key] ?? "");
  return sum;
}

export const validateTotalSize = (size: number, path: string): readonly FieldError[] =>
  size > MAX_DATA_SIZE ? [tooLongError(path, MAX_DATA_SIZE)] : [];

const IMMUTABLE = "field is immutable when `immutable` is set";

/** An immutable object can be changed in its metadata only, and stays immutable. */
export function validateImmutability<T extends { readonly [member: string]: JsonValue | undefined }>(
  object: T,
  old: T,
  members: readonly (keyof T & string)[],
): readonly FieldError[] {
  if (old["immutable"] !== true) return [];
  return [
    ...(object["immutable"] === true ? [] : [forbiddenError("immutable", IMMUTABLE)]),
    ...members
      .filter((member) => !equalJson(object[member] ?? {}, old[member] ?? {}))
      .map((member) => forbiddenError(member, IMMUTABLE)),
  ];
}
