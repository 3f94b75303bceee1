// The part of a body that the audit log records.

import { gunzipSync } from "node:zlib";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { unescapeSegment } from "@postern/apimachinery/patch/patch-target";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import type { ApiResponse } from "../transport/api-response.ts";
import type { AuditEvent } from "./audit-event.ts";

/** Gives the part of a body that is written; undefined for a body that is not kept at all. */
export type BodyRedaction = (body: JsonValue) => JsonValue | undefined;

/** Set on events that lost their bodies; the name is that of upstream. */
export const TRUNCATED_ANNOTATION = "audit.k8s.io/truncated";

/** YAML takes a hundred times as long to read as JSON. */
const MAX_YAML_BYTES = 16 * 1024;

/** `value` is absent where there is no document, or none that may be kept; only the latter is too large. */
export type ResponseDocument = { readonly value?: JsonValue; readonly isTooLarge: boolean };

/** The document of a finished response, unless it is larger than `maxBytes`, or too long to be read as YAML. */
export function responseDocument({ headers, body }: ApiResponse, maxBytes: number): ResponseDocument {
  if (body.type !== "bytes" || body.bytes.length === 0) return { isTooLarge: false };
  if (body.bytes.length > maxBytes) return { isTooLarge: true };
  const mediaType = String(headers["content-type"] ?? "");
  try {
    const bytes =
      headers["content-encoding"] === "gzip"
        ? gunzipSync(Buffer.from(body.bytes), { maxOutputLength: maxBytes })
        : Buffer.from(body.bytes);
    if (mediaType.startsWith("application/json")) return { value: parseJson(bytes), isTooLarge: false };
    if (!mediaType.startsWith("application/yaml")) return { isTooLarge: false };
    return bytes.length > MAX_YAML_BYTES
      ? { isTooLarge: true }
      : { value: decodeYaml(bytes.toString()).value, isTooLarge: false };
  } catch (error) {
    // Too large when it is unpacked.
    return { isTooLarge: error instanceof RangeError };
  }
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

// Takes secrets out of a body before the audit log keeps it.

type SecretMembers = {
  /** Names of members whose values are secret, wherever they stand. */
  readonly members: ReadonlySet<string>;
  /** Tells text that is secret by its form. */
  readonly looksSecret?: ((text: string) => boolean) | undefined;
};

export const REDACTED = "REDACTED";

/** Made by kubectl: it holds a whole manifest, with all secrets of that. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
/** Shorter texts stand anywhere by chance. */
const MIN_COPIED_LENGTH = 8;

/**
 * The body, an object or a patch, with `REDACTED` in place of each secret, and of each text that repeats one of them. A member that
 * holds several, such as the data of a Secret, keeps the names of its members.
 */
export function redactSecrets(body: JsonValue, { members, looksSecret = () => false }: SecretMembers): JsonValue {
  const secrets = new Set<string>();
  collect(body, members, secrets);
  const isSecretText = (text: string): boolean =>
    looksSecret(text) || [...secrets].some((secret) => text.includes(secret));
  return redacted(body, members, isSecretText);
}

function redacted(value: JsonValue, members: ReadonlySet<string>, isSecretText: (text: string) => boolean): JsonValue {
  if (typeof value === "string") return isSecretText(value) ? REDACTED : value;
  if (isJsonArray(value)) return value.map((item) => redacted(item, members, isSecretText));
  if (!isJsonObject(value)) return value;
  const pointsAtSecret = isSecretOperation(value, members);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, JsonValue][] => {
      if (member === undefined) return [];
      // A client may put a secret where a name belongs.
      const safeName = isSecretText(name) ? REDACTED : name;
      const isSecret = members.has(name) || name === LAST_APPLIED || (name === "value" && pointsAtSecret);
      return [[safeName, isSecret ? withoutTexts(member) : redacted(member, members, isSecretText)]];
    }),
  );
}

/** Only the names of members are left. */
function withoutTexts(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value === null ? null : REDACTED;
  return Object.fromEntries(Object.keys(value).map((name) => [name, REDACTED]));
}

/** An operation of a JSON patch whose path goes through a secret. */
function isSecretOperation({ path, value }: JsonObject, members: ReadonlySet<string>): boolean {
  if (typeof path !== "string" || value === undefined) return false;
  const steps = path.split("/").map(unescapeSegment);
  return steps.some((step) => members.has(step) || step === LAST_APPLIED);
}

function collect(
  value: JsonValue | undefined,
  members: ReadonlySet<string>,
  into: Set<string>,
  isSecret = false,
): void {
  if (typeof value === "string") {
    if (isSecret && value.length >= MIN_COPIED_LENGTH) into.add(value);
  } else if (isJsonArray(value)) {
    for (const item of value) collect(item, members, into, isSecret);
  } else if (isJsonObject(value)) {
    const pointsAtSecret = isSecretOperation(value, members);
    for (const [name, member] of Object.entries(value)) {
      collect(member, members, into, isSecret || members.has(name) || (name === "value" && pointsAtSecret));
    }
  }
}
