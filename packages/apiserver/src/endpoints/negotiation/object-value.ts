// A document to be answered with: the bytes the server keeps, or a value still to be encoded.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { asBuffer } from "../../cache/allocate-bytes.ts";

/** The compact JSON of an object, without a newline at its end: a CachedObject is one. */
export type KeptObject = { readonly bytes: Uint8Array };

export type ObjectValue = KeptObject | JsonObject;

/** The bytes of a kept object. No JSON value is a Uint8Array, so a member called `bytes` is not mistaken for them. */
export function keptBytes(value: ObjectValue): Uint8Array | undefined {
  const { bytes } = value;
  return bytes instanceof Uint8Array ? bytes : undefined;
}

export function decodeValue(value: ObjectValue): JsonObject {
  const bytes = keptBytes(value);
  // Kept bytes are always those of an object, and what is not kept is one.
  return (bytes === undefined ? value : parseJson(bytes)) as JsonObject;
}

/** Compact JSON. */
export function jsonTextOf(value: ObjectValue): string {
  const bytes = keptBytes(value);
  // As above.
  return bytes === undefined ? stringifyJson(value as JsonObject) : asBuffer(bytes).toString("utf8");
}
