// A document to be answered with: the bytes the server keeps, or a value still to be encoded.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";

/** An object that the server keeps encoded, as compact JSON: a CachedObject is one. */
export type KeptObject = {
  readonly byteLength: number;
  /** Writes it to `target` from `at` on, and returns where it ends. */
  writeTo(target: Buffer, at: number): number;
  /** The same bytes where they lie. */
  pieces(): readonly Uint8Array[];
};

export type ObjectValue = KeptObject | JsonObject;

/** No JSON value is a function, so a member called `writeTo` is not mistaken for that of a kept object. */
export const isKept = (value: ObjectValue): value is KeptObject => typeof value["writeTo"] === "function";

/** A kept object of compact JSON. */
export const keep = (json: Buffer): KeptObject => ({
  byteLength: json.length,
  writeTo: (target, at) => at + json.copy(target, at),
  pieces: () => [json],
});

/** A kept object between two texts of ASCII. */
export function encodeKept(value: KeptObject, before: string, after: string): Buffer {
  const bytes = Buffer.allocUnsafe(before.length + value.byteLength + after.length);
  bytes.write(before, 0, "latin1");
  bytes.write(after, value.writeTo(bytes, before.length), "latin1");
  return bytes;
}

export function decodeValue(value: ObjectValue): JsonObject {
  // Kept bytes are always those of an object.
  return isKept(value) ? (parseJson(encodeKept(value, "", "")) as JsonObject) : value;
}

/** Compact JSON. */
export const jsonTextOf = (value: ObjectValue): string =>
  isKept(value) ? encodeKept(value, "", "").toString("utf8") : stringifyJson(value);
