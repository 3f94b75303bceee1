// Moves objects from client-side to server-side apply, for the manager `kubectl` alone.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/lastappliedmanager.go, lastappliedupdater.go, lastapplied.go

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { difference, EMPTY_FIELD_SET, type FieldSet } from "../fieldpath/field-set.ts";
import { compareValues } from "../typed/compare-values.ts";
import { removeItems } from "../typed/remove-items.ts";
import { toFieldSet } from "../typed/to-field-set.ts";
import type { TypedSchema } from "../typed/typed-schema.ts";
import { validateValue } from "../typed/validate-value.ts";
import { jsonOf } from "./object-managed-fields.ts";

/** Where client-side apply keeps what it applied last, and the only manager that it is kept up for. */
export const LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration";
export const LAST_APPLIED_MANAGER = "kubectl";

/** All keys and values of an object's annotations together, in bytes. */
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

const lastAppliedOf = (object: KubeObject): string => object.metadata.annotations?.[LAST_APPLIED_ANNOTATION] ?? "";

/**
 * The fields that client-side apply set and that still are as it set them: even if another manager is recorded as their owner,
 * kubectl may change them. Empty when the annotation is missing or unusable.
 */
export function fieldsLastApplied(live: KubeObject, schema: TypedSchema, apiVersion: string): FieldSet {
  const text = lastAppliedOf(live);
  if (text === "") return EMPTY_FIELD_SET;
  try {
    const lastApplied = parseJson(text);
    if (!isJsonObject(lastApplied) || lastApplied["apiVersion"] !== apiVersion) return EMPTY_FIELD_SET;
    validateValue(lastApplied, schema);
    const { added, removed, modified } = compareValues(lastApplied, jsonOf(live), schema);
    return difference(difference(difference(toFieldSet(lastApplied, schema), modified), added), removed);
  } catch {
    return EMPTY_FIELD_SET;
  }
}

/**
 * Updates the annotation, if there is one, with the applied object. Fields that cannot be owned, such as secrets, are left out; an annotation that
 * would be too large is dropped.
 */
export function withLastApplied(
  object: KubeObject,
  applied: KubeObject,
  schema: TypedSchema,
  secret: FieldSet,
): KubeObject {
  if (lastAppliedOf(object) === "") return object;
  const { [LAST_APPLIED_ANNOTATION]: _, ...others } = object.metadata.annotations ?? {};
  const annotations = { ...others, [LAST_APPLIED_ANNOTATION]: configurationText(applied, schema, secret) };
  const kept = annotationBytes(annotations) > MAX_ANNOTATIONS_BYTES ? others : annotations;
  return { ...object, metadata: { ...object.metadata, annotations: kept } };
}

function configurationText(applied: KubeObject, schema: TypedSchema, secret: FieldSet): string {
  const { annotations, ...metadata } = applied.metadata;
  const { [LAST_APPLIED_ANNOTATION]: _, ...others } = annotations ?? {};
  const bare = { ...applied, metadata: annotations === undefined ? metadata : { ...metadata, annotations: others } };
  // As written by Go: members sorted, with a newline at the end.
  return `${stringifyJson(sorted(removeItems(jsonOf(bare), secret, schema)))}\n`;
}

function sorted(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .flatMap((name) => {
        const member = value[name];
        return member === undefined ? [] : [[name, sorted(member)]];
      }),
  );
}

function annotationBytes(annotations: { readonly [key: string]: string }): number {
  const encoder = new TextEncoder();
  return Object.entries(annotations).reduce(
    (total, [key, value]) => total + encoder.encode(key).length + encoder.encode(value).length,
    0,
  );
}
