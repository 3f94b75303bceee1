// Reads JSON whose shape is not guaranteed: a value of another type counts as absent.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "./json-value.ts";

/** "" for anything but a text. */
export const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

/** One for all: most lists are empty, and some are kept for very many objects. */
const NONE: readonly never[] = [];

/** The texts of a list. */
export const textsOf = (value: JsonValue | undefined): readonly string[] =>
  isJsonArray(value) && value.length > 0 ? value.filter((item) => typeof item === "string") : NONE;

export const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** The objects of a list. */
export const objectsOf = (value: JsonValue | undefined): readonly JsonObject[] =>
  isJsonArray(value) ? value.filter(isJsonObject) : NONE;
