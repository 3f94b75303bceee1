// Finds the old item that corresponds to a new item of a list. Only lists with map keys have such items.
// Source: k8s.io/apiserver/pkg/cel/common/equality.go (CorrelatedObject)

import { isJsonArray, isJsonObject, type JsonValue } from "../../json/json-value.ts";
import { stringifyJson } from "../../json/stringify-json.ts";
import type { StructuralSchema } from "../structural-schema.ts";

type OldItemOf = (item: JsonValue) => JsonValue | undefined;

const UNKNOWN: OldItemOf = () => undefined;

/** Looks old items up by key; always undefined for lists without keys. */
export function correlateItems(schema: StructuralSchema, old: JsonValue | undefined): OldItemOf {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (schema["x-kubernetes-list-type"] !== "map" || keys === undefined || !isJsonArray(old)) return UNKNOWN;
  const names = new Set(keys);
  // By the members of the item: a schema may have more keys.
  const identityOf = (item: JsonValue): string | undefined =>
    isJsonObject(item)
      ? stringifyJson(
          Object.keys(item)
            .filter((name) => names.has(name))
            .toSorted()
            .flatMap((name) => (item[name] === undefined || item[name] === null ? [] : [[name, item[name]]])),
        )
      : undefined;
  const oldItems = new Map(old.map((item) => [identityOf(item), item]));
  oldItems.delete(undefined);
  return (item) => oldItems.get(identityOf(item));
}
