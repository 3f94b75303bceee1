// What of a body the audit log keeps.

import { gunzipSync } from "node:zlib";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import type { ApiResponse } from "../transport/api-response.ts";
import type { AuditEvent } from "./audit-event.ts";

/** What is written of a body; undefined for one that is not kept at all. */
export type BodyRedaction = (body: JsonValue) => JsonValue | undefined;

/** Set on events that lost their bodies; the name is that of upstream. */
export const TRUNCATED_ANNOTATION = "audit.k8s.io/truncated";

/** The document of a finished response; undefined where it is none, or larger than `maxBytes`. */
export function responseDocument({ headers, body }: ApiResponse, maxBytes: number): JsonValue | undefined {
  if (body.type !== "bytes" || body.bytes.length === 0 || body.bytes.length > maxBytes) return undefined;
  const mediaType = String(headers["content-type"] ?? "");
  try {
    const bytes =
      headers["content-encoding"] === "gzip"
        ? gunzipSync(Buffer.from(body.bytes), { maxOutputLength: maxBytes })
        : Buffer.from(body.bytes);
    if (mediaType.startsWith("application/json")) return parseJson(bytes);
    if (mediaType.startsWith("application/yaml")) return decodeYaml(bytes.toString()).value;
  } catch {
    // Too large when it is unpacked.
  }
  return undefined;
}

/** Objects, lists and tables without the notes of who owns which field. */
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
