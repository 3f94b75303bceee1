// A document to be answered with: the bytes the server keeps, or a value still to be encoded.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { asBuffer } from "../../cache/allocate-bytes.ts";

/** The compact JSON of an object, without a newline at its end: a CachedObject is one. */
export type KeptObject = { readonly bytes: Uint8Array };

export type ObjectValue = KeptObject | JsonObject;

/** No JSON value is a Uint8Array, so a member called `bytes` is not mistaken for one. */
export const isKept = (value: ObjectValue): value is KeptObject => value["bytes"] instanceof Uint8Array;

/** Kept bytes are always those of an object. */
export const decodeValue = (value: ObjectValue): JsonObject =>
  isKept(value) ? (parseJson(value.bytes) as JsonObject) : value;

/** Compact JSON. */
export function jsonTextOf(value: ObjectValue): string {
  return isKept(value) ? asBuffer(value.bytes).toString("utf8") : stringifyJson(value);
}
