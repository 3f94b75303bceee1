// Digests of sources and of specs: equal content has an equal digest, in whatever order its members are.

import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson, withSortedMembers } from "@postern/apimachinery/json/stringify-json";

export const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 32);

/** `place` counts as well. */
export const digestOfSpec = (spec: object, ...place: readonly JsonValue[]): string =>
  digestOf(stringifyJson(withSortedMembers([jsonOf(spec), ...place])));

/** Objects are JSON; only their named types hide it. Members that are undefined are left out. */
export const jsonOf = (value: object): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as JsonObject;
