// Amounts in fields: upstream takes numbers as well as texts, and writes texts.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";

/** `500m`, `1Gi`, `2` or `0.5`. */
export const quantity = s.field<JsonValue>({ "x-kubernetes-preserve-unknown-fields": true });

/** Amounts by resource. */
export const quantities = s.map(quantity);

export const quantityText = (value: JsonValue | undefined): string =>
  typeof value === "string" ? value : typeof value === "number" || typeof value === "bigint" ? String(value) : "";

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d{1,3}|[EPTGMK]i|[numkMGTPE]?)$/;
/** Reading very many digits takes more than linear time. */
const MAX_LENGTH = 256;
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** Parts below a nano are dropped. */
const NANO_DIGITS = 9;

/** In nanos; undefined if the text is not a quantity. */
export function parseAmount(text: string): bigint | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const [, sign, whole = "", fraction = "", suffix = ""] = QUANTITY.exec(text) ?? [];
  if (sign === undefined || `${whole}${fraction}` === "") return undefined;
  const binary = BINARY.indexOf(suffix);
  const exponent = /^[eE]\S/.test(suffix)
    ? Number(suffix.slice(1))
    : binary >= 0
      ? 0
      : (DECIMAL.indexOf(suffix) - 3) * 3;
  const power = exponent - fraction.length + NANO_DIGITS;
  const digits = BigInt(`${whole}${fraction}`) * (binary >= 0 ? 1024n ** BigInt(binary + 1) : 1n);
  const nanos = power >= 0 ? digits * 10n ** BigInt(power) : digits / 10n ** BigInt(-power);
  return sign === "-" ? -nanos : nanos;
}
