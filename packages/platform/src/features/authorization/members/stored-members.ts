// Reads members of stored specs for decisions; a member of an unexpected type counts as absent.

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { Owner } from "../caller.ts";

export const memberOf = (value: JsonValue | undefined, member: string): JsonValue | undefined =>
  isJsonObject(value) ? value[member] : undefined;

export function textOf(value: JsonValue | undefined, member: string): string {
  const text = memberOf(value, member);
  return typeof text === "string" ? text : "";
}

export function textsOf(value: JsonValue | undefined, member: string): readonly string[] {
  const list = memberOf(value, member);
  return isJsonArray(list) ? list.filter((item) => typeof item === "string") : [];
}

/** `owner {user, team}` of a spec; empty strings if there is no owner. */
export function readOwner(spec: JsonValue | undefined): Owner {
  const owner = memberOf(spec, "owner");
  return { user: textOf(owner, "user"), team: textOf(owner, "team") };
}
