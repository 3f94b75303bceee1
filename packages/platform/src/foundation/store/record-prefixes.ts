// The prefixes of access keys and of certificates in a store.

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
