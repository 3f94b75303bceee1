// Decodes a protobuf request body into JSON, for the kinds that Go clients send in protobuf.

import type { JsonObject } from "../json/json-value.ts";
import { builtinMessages, reviewMessages } from "./builtin-messages.ts";
import { clusterMessage } from "./cluster-messages.ts";
import { decodeMessage, type MessageType, string, textOf } from "./message-type.ts";
import { deleteOptions } from "./meta-messages.ts";
import { ProtobufError, readFields } from "./wire-reader.ts";

const MESSAGES = new Map(Object.entries({ ...reviewMessages, ...builtinMessages }));

/** Whether bodies of this kind can be decoded; others are to be refused with 415. */
export function isProtobufKind(apiVersion: string, kind: string): boolean {
  return messageTypeOf(apiVersion, kind) !== undefined;
}

/**
 * The object in a body of `application/vnd.kubernetes.protobuf`. Members that the sender left empty are absent, but for `{}` of
 * messages that were sent. A body without a type is read as the given one, the endpoint's.
 * @throws ProtobufError for bytes that are no such object
 */
export function decodeProtobufObject(
  body: Uint8Array,
  endpoint: { readonly apiVersion: string; readonly kind: string },
): JsonObject {
  const envelope = readUnknownEnvelope(body);
  const apiVersion = envelope.apiVersion || endpoint.apiVersion;
  const kind = envelope.kind || endpoint.kind;
  const type = messageTypeOf(apiVersion, kind);
  if (type === undefined) throw new ProtobufError(`no kind ${JSON.stringify(kind)} is registered for ${apiVersion}`);
  return { apiVersion, kind, ...decodeMessage(type, envelope.raw) };
}

function messageTypeOf(apiVersion: string, kind: string): MessageType | undefined {
  // DeleteOptions comes in the version of the group that is being deleted from.
  if (kind === "DeleteOptions") return deleteOptions;
  const name = `${apiVersion}/${kind}`;
  return MESSAGES.get(name) ?? clusterMessage(name);
}

// The envelope that every Kubernetes protobuf body comes in: four magic bytes and a runtime.Unknown message.
// Source: k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go, pkg/runtime/generated.proto

/** "k8s" and a zero byte. */
const MAGIC = [0x6b, 0x38, 0x73, 0x00];

const typeMeta = { 1: string("apiVersion"), 2: string("kind") };

type UnknownEnvelope = {
  /** "" where the sender leaves the type to the endpoint. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The message of that kind. */
  readonly raw: Uint8Array;
};

/** @throws ProtobufError for other bytes and for encoded content */
function readUnknownEnvelope(body: Uint8Array): UnknownEnvelope {
  if (MAGIC.some((byte, i) => body[i] !== byte)) {
    throw new ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  let apiVersion = "";
  let kind = "";
  let raw: Uint8Array = new Uint8Array();
  for (const { number, value } of readFields(body.subarray(MAGIC.length))) {
    if (number > 3) continue;
    if (typeof value === "bigint") throw new ProtobufError("proto: wrong wire type for a field with a length");
    if (number === 1) {
      const meta = decodeMessage(typeMeta, value);
      apiVersion = typeof meta["apiVersion"] === "string" ? meta["apiVersion"] : "";
      kind = typeof meta["kind"] === "string" ? meta["kind"] : "";
    } else if (number === 2) raw = value;
    else if (textOf(value) !== "") throw new ProtobufError(`unsupported content encoding ${textOf(value)}`);
  }
  return { apiVersion, kind, raw };
}
