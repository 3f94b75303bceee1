// The protobuf messages of meta/v1 that request bodies hold.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto

import type { JsonValue } from "../json/json-value.ts";
import { parseJson } from "../json/parse-json.ts";
import { formatMicroTime, formatTimestamp } from "../time/timestamp.ts";
import {
  converted,
  type FieldType,
  integer,
  type MessageType,
  message,
  messages,
  optionalBool,
  optionalInteger,
  optionalString,
  string,
  stringMap,
  strings,
} from "./message-type.ts";
import { ProtobufError, readFields } from "./wire-reader.ts";

/** Years 1 to 9999, which RFC 3339 can write. */
const MIN_SECONDS = -62_135_596_800n;
const MAX_SECONDS = 253_402_300_799n;

/** Milliseconds of a Time message; undefined for the empty message, which means no time. */
function readTime(bytes: Uint8Array): number | undefined {
  if (bytes.length === 0) return undefined;
  let seconds = 0n;
  let nanos = 0n;
  for (const { number, value } of readFields(bytes)) {
    if (typeof value !== "bigint") throw new ProtobufError("proto: wrong wire type for an integer");
    if (number === 1) seconds = BigInt.asIntN(64, value);
    else if (number === 2) nanos = BigInt.asIntN(32, value);
  }
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS || nanos < 0n || nanos > 999_999_999n) {
    throw new ProtobufError("proto: time out of range");
  }
  // Cut to microseconds while exact: fractions of a millisecond are rounded in a double.
  return Number(seconds) * 1000 + Number(nanos / 1000n) / 1000;
}

export const time = (name: string): FieldType =>
  converted(name, (bytes) => {
    const milliseconds = readTime(bytes);
    return milliseconds === undefined ? undefined : formatTimestamp(milliseconds);
  });

export const microTime = (name: string): FieldType =>
  converted(name, (bytes) => {
    const milliseconds = readTime(bytes);
    return milliseconds === undefined ? undefined : formatMicroTime(milliseconds);
  });

/** FieldsV1 carries its JSON as text. */
function readFieldsV1(bytes: Uint8Array): JsonValue | undefined {
  for (const { number, value } of readFields(bytes)) {
    if (number !== 1 || typeof value === "bigint" || value.length === 0) continue;
    try {
      return parseJson(value);
    } catch (cause) {
      throw new ProtobufError("proto: fieldsV1 is not JSON", { cause });
    }
  }
  return undefined;
}

const ownerReference: MessageType = {
  1: string("kind"),
  3: string("name"),
  4: string("uid"),
  5: string("apiVersion"),
  6: optionalBool("controller"),
  7: optionalBool("blockOwnerDeletion"),
};

const managedFieldsEntry: MessageType = {
  1: string("manager"),
  2: string("operation"),
  3: string("apiVersion"),
  4: time("time"),
  6: string("fieldsType"),
  7: converted("fieldsV1", readFieldsV1),
  8: string("subresource"),
};

export const objectMeta: MessageType = {
  1: string("name"),
  2: string("generateName"),
  3: string("namespace"),
  4: string("selfLink"),
  5: string("uid"),
  6: string("resourceVersion"),
  7: integer("generation"),
  8: time("creationTimestamp"),
  9: time("deletionTimestamp"),
  10: optionalInteger("deletionGracePeriodSeconds"),
  11: stringMap("labels"),
  12: stringMap("annotations"),
  13: messages("ownerReferences", ownerReference),
  14: strings("finalizers"),
  17: messages("managedFields", managedFieldsEntry),
};

const preconditions: MessageType = {
  1: optionalString("uid"),
  2: optionalString("resourceVersion"),
};

export const deleteOptions: MessageType = {
  1: optionalInteger("gracePeriodSeconds"),
  2: message("preconditions", preconditions),
  3: optionalBool("orphanDependents"),
  4: optionalString("propagationPolicy"),
  5: strings("dryRun"),
  6: optionalBool("ignoreStoreReadErrorWithClusterBreakingPotential"),
};

/** FieldSelectorRequirement and LabelSelectorRequirement have the same fields. */
export const selectorRequirement: MessageType = { 1: string("key"), 2: string("operator"), 3: strings("values") };

export const labelSelector: MessageType = {
  1: stringMap("matchLabels"),
  2: messages("matchExpressions", selectorRequirement),
};
