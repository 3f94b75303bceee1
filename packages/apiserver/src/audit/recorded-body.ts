// The part of a body that the audit log records.

import { gunzipSync } from "node:zlib";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { decodeProtobufObject } from "@postern/apimachinery/protobuf/protobuf-object";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { type ApiResponse, lengthOfBody } from "../transport/api-response.ts";
import type { AuditEvent } from "./audit-event.ts";

/** Gives the part of a body that is written; undefined for a body that is not kept at all. */
export type BodyRedaction = (body: JsonValue) => JsonValue | undefined;

/** Set on events that lost their bodies; the name is that of upstream. */
export const TRUNCATED_ANNOTATION = "audit.k8s.io/truncated";

/** YAML takes a hundred times as long to read as JSON. */
const MAX_YAML_BYTES = 16 * 1024;

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const UNTYPED = { apiVersion: "", kind: "" };

/** `value` is absent where there is no document, or none that may be kept; only the latter is too large. */
export type ResponseDocument = { readonly value?: JsonValue; readonly isTooLarge: boolean };

/** The document of a finished response, unless it is larger than `maxBytes`, or too long to be read as YAML. */
export function responseDocument({ headers, body }: ApiResponse, maxBytes: number): ResponseDocument {
  if (body.type !== "bytes" || lengthOfBody(body) === 0) return { isTooLarge: false };
  if (lengthOfBody(body) > maxBytes) return { isTooLarge: true };
  const mediaType = String(headers["content-type"] ?? "");
  try {
    const bytes =
      headers["content-encoding"] === "gzip"
        ? gunzipSync(Buffer.from(body.bytes), { maxOutputLength: maxBytes })
        : Buffer.from(body.bytes);
    if (mediaType.startsWith("application/json")) return { value: parseJson(bytes), isTooLarge: false };
    if (mediaType === PROTOBUF) return { value: decodeProtobufObject(bytes, UNTYPED), isTooLarge: false };
    if (!mediaType.startsWith("application/yaml")) return { isTooLarge: false };
    return bytes.length > MAX_YAML_BYTES
      ? { isTooLarge: true }
      : { value: decodeYaml(bytes.toString()).value, isTooLarge: false };
  } catch (error) {
    // Too large when it is unpacked.
    return { isTooLarge: error instanceof RangeError };
  }
}

/** Removes managedFields from objects, lists and tables. */
export function withoutManagedFields(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const { metadata, items, rows } = value;
  return {
    ...value,
    ...(isJsonObject(metadata) ? { metadata: withoutMember(metadata, "managedFields") } : {}),
    ...(isJsonArray(items) ? { items: items.map(withoutManagedFields) } : {}),
    ...(isJsonArray(rows) ? { rows: rows.map(rowWithoutManagedFields) } : {}),
  };
}

function rowWithoutManagedFields(row: JsonValue): JsonValue {
  if (!isJsonObject(row) || row["object"] === undefined) return row;
  return { ...row, object: withoutManagedFields(row["object"]) };
}

function withoutMember(object: JsonObject, name: string): JsonObject {
  const { [name]: _, ...rest } = object;
  return rest;
}

/** The event without its bodies where those have more than `maxLength` characters. */
export function truncated(event: AuditEvent, maxLength: number): AuditEvent {
  const { requestObject, responseObject, ...rest } = event;
  const size = (value: JsonValue | undefined): number => (value === undefined ? 0 : stringifyJson(value).length);
  if (size(requestObject) + size(responseObject) <= maxLength) return event;
  return { ...rest, annotations: { ...event.annotations, [TRUNCATED_ANNOTATION]: "true" } };
}
