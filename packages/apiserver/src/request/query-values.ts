// Reads single query parameters as Kubernetes does.
// Source: k8s.io/apimachinery/pkg/runtime/conversion.go

import { badRequestError } from "@postern/apimachinery/meta/api-error";
import { parseInt64 } from "@postern/apimachinery/selectors/label-requirement";
import { quoteGo } from "@postern/apimachinery/text/go-quote";

const INTEGER = /^[+-]?\d+$/;

/** False for `false`, `0` and absence; any other text is true, the empty one too. */
export const queryBoolean = (query: URLSearchParams, name: string): boolean =>
  optionalQueryBoolean(query, name) ?? false;

export function optionalQueryBoolean(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const lower = value.toLowerCase();
  return lower !== "false" && lower !== "0";
}

/**
 * The integer, where one is given. Values past ±2^53 lose their last digits.
 * Throws ApiError 400 with Go's text for what is not an int64.
 */
export function optionalQueryInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = parseInt64(text);
  if (value !== undefined) return Number(value);
  const why = INTEGER.test(text) ? "value out of range" : "invalid syntax";
  throw badRequestError(`strconv.ParseInt: parsing ${quoteGo(text)}: ${why}`);
}

/** The first value, or undefined when the parameter is absent. */
export const optionalQueryText = (query: URLSearchParams, name: string): string | undefined =>
  query.get(name) ?? undefined;
