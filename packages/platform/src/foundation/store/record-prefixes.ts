// Where in a store the records are that say who may come in.

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";

export type RecordPrefixes = {
  readonly accessKeys: string;
  readonly certificates: string;
};

export function readRecordPrefixes(value: JsonValue | undefined): RecordPrefixes | undefined {
  if (!isJsonObject(value)) return undefined;
  const { accessKeys, certificates } = value;
  return typeof accessKeys === "string" && typeof certificates === "string" ? { accessKeys, certificates } : undefined;
}
