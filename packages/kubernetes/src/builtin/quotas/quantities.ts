// Amounts in fields: upstream takes numbers as well as texts, and writes texts in one form.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";

/** `500m`, `1Gi` or `2`. A number in a body is its text from there on. */
export const quantity = s.field<JsonValue>({ "x-kubernetes-preserve-unknown-fields": true, isQuantity: true });

/** Amounts by resource. */
export const quantities = s.map(quantity);

export const quantityText = (value: JsonValue | undefined): string =>
  typeof value === "string" ? value : typeof value === "number" || typeof value === "bigint" ? String(value) : "";
