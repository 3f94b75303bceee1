// Amounts in fields: upstream takes numbers as well as texts, and writes texts in one form.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import { s } from "@postern/apimachinery/schema/builder";
import { type FieldError, invalidError, keyPath } from "@postern/apimachinery/validation/field-error";

/** `500m`, `1Gi` or `2`. A number in a body is its text from there on. */
export const quantity = s.field<JsonValue>({ "x-kubernetes-preserve-unknown-fields": true, isQuantity: true });

/** Amounts by resource. */
export const quantities = s.map(quantity);

export const quantityText = (value: JsonValue | undefined): string =>
  typeof value === "string" ? value : typeof value === "number" || typeof value === "bigint" ? String(value) : "";

const ONE = 1_000_000_000n;

/** Faults of amounts by resource: `nameFaults` are those of a name, and of what `isWhole` there are no parts. */
export const amountsFaults = (
  amounts: { readonly [resource: string]: JsonValue | undefined },
  path: string,
  nameFaults: (path: string, name: string) => readonly FieldError[],
  isWhole: (name: string) => boolean,
): readonly FieldError[] =>
  Object.entries(amounts).flatMap(([name, value]) => {
    const at = keyPath(path, name);
    const text = quantityText(value);
    const amount = parseAmount(text) ?? 0n;
    return [
      ...nameFaults(at, name),
      ...(amount < 0n ? [invalidError(at, text, "must be greater than or equal to 0")] : []),
      ...(isWhole(name) && amount % ONE !== 0n ? [invalidError(at, text, "must be an integer")] : []),
    ];
  });
