// Objects in `application/vnd.kubernetes.protobuf`: four magic bytes and a runtime.Unknown message around the message of the kind.
// Source: k8s.io/apimachinery/pkg/runtime/serializer/protobuf/{protobuf,collections}.go, pkg/runtime/generated.proto

import type { JsonObject } from "../json/json-value.ts";
import { listMeta, messageOfKind } from "./kubernetes-messages.ts";
import { bytesOf, type MessageType, textOf, writeText } from "./message-type.ts";
import { LENGTH_DELIMITED, ProtobufError, readFields } from "./wire-reader.ts";
import { WireWriter } from "./wire-writer.ts";

/** "k8s" and a zero byte. */
const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0);
/** The fields `contentEncoding` and `contentType`, empty. */
const UNENCODED = Uint8Array.of(0x1a, 0, 0x22, 0);
const RAW_TAG = (2 << 3) | LENGTH_DELIMITED;
const FIRST_TAG = (1 << 3) | LENGTH_DELIMITED;

/** Whether there is a message for the kind: bodies of others are to be refused with 415, and never answered. */
export function isProtobufKind(apiVersion: string, kind: string): boolean {
  return messageOfKind(apiVersion, kind) !== undefined;
}

/**
 * The object in a body of `application/vnd.kubernetes.protobuf`. Members that the sender left empty are absent, but for `{}` of
 * messages that were sent, and scalars that JSON always has. A body without a type is read as the given one, the endpoint's.
 * @throws ProtobufError for bytes that are no such object
 */
export function decodeProtobufObject(
  body: Uint8Array,
  endpoint: { readonly apiVersion: string; readonly kind: string },
): JsonObject {
  const envelope = readEnvelope(body);
  const apiVersion = envelope.apiVersion || endpoint.apiVersion;
  const kind = envelope.kind || endpoint.kind;
  const type = messageOfKind(apiVersion, kind);
  if (type === undefined) throw new ProtobufError(`no kind ${JSON.stringify(kind)} is registered for ${apiVersion}`);
  return { apiVersion, kind, ...type.decode(envelope.raw) };
}

type Envelope = {
  /** "" where the sender leaves the type to the endpoint. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The message of that kind. */
  readonly raw: Uint8Array;
};

/** @throws ProtobufError for other bytes and for encoded content */
function readEnvelope(body: Uint8Array): Envelope {
  if (MAGIC.some((byte, i) => body[i] !== byte)) {
    throw new ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  }
  let apiVersion = "";
  let kind = "";
  let raw: Uint8Array = new Uint8Array();
  for (const { number, value } of readFields(body.subarray(MAGIC.length))) {
    if (number === 1) {
      for (const part of readFields(bytesOf(value))) {
        if (part.number === 1) apiVersion = textOf(part.value);
        else if (part.number === 2) kind = textOf(part.value);
      }
    } else if (number === 2) raw = bytesOf(value);
    else if (number === 3 && textOf(value) !== "") {
      throw new ProtobufError(`unsupported content encoding ${textOf(value)}`);
    }
  }
  return { apiVersion, kind, raw };
}

/** The body of an answer with one object. Its kind must have a message. */
export function encodeProtobufObject(object: JsonObject): Buffer {
  // The versions of the core group have no apiVersion.
  const { apiVersion = "", kind } = object;
  const writer = new WireWriter();
  writer.bytes(UNENCODED);
  const from = writer.length;
  messageFor(String(apiVersion), String(kind)).encode(writer, object);
  writer.lengthSince(from);
  writeHead(writer, String(apiVersion), String(kind));
  return writer.finish();
}

/** The object as Go writes it in JSON: with what its structs always have, and without what there is no field for. Its kind must have a message. */
export function asGoWrites(object: JsonObject): JsonObject {
  const { apiVersion, kind } = object;
  const message = messageFor(String(apiVersion), String(kind));
  return {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    ...message.asGoWrites(object),
  };
}

/** All of an answer before the length of the message. */
function writeHead(writer: WireWriter, apiVersion: string, kind: string): void {
  writer.byte(RAW_TAG);
  const from = writer.length;
  writeText(writer, 2, kind);
  writeText(writer, 1, apiVersion);
  writer.lengthSince(from);
  writer.byte(FIRST_TAG);
  writer.bytes(MAGIC);
}

function messageFor(apiVersion: string, kind: string): MessageType {
  const type = messageOfKind(apiVersion || "v1", kind);
  if (type === undefined) throw new TypeError(`${kind} of ${apiVersion} has no protobuf message`);
  return type;
}

/** An item of a list, with its tag. `type`: of its kind, which it need not tell. */
export function encodeProtobufItem(
  object: JsonObject,
  type: { readonly apiVersion: string; readonly kind: string },
): Buffer {
  const writer = new WireWriter();
  messageFor(type.apiVersion, type.kind).encode(writer, object);
  writer.lengthSince(0);
  writer.byte(RAW_TAG);
  return writer.finish();
}

/** The bytes of a list before its items, which take `itemBytes` together. `head`: everything of the list but its items. */
export function protobufListHead(
  { apiVersion, kind, metadata }: { readonly apiVersion: string; readonly kind: string; readonly metadata: JsonObject },
  itemBytes: number,
): Buffer {
  const writer = new WireWriter();
  listMeta().encode(writer, metadata);
  writer.lengthSince(0);
  writer.byte(FIRST_TAG);
  writer.varint(writer.length + itemBytes);
  writeHead(writer, apiVersion, kind);
  return writer.finish();
}

/** The bytes of a list behind its items. */
export const PROTOBUF_LIST_END: Uint8Array = UNENCODED;

/** An event of a watch, with its length before it as streams have it. `object`: as answers have it. */
export function encodeProtobufEvent(type: string, object: Uint8Array): Buffer {
  const writer = new WireWriter();
  writer.bytes(object);
  writer.lengthSince(0);
  writer.byte(FIRST_TAG);
  writer.lengthSince(0);
  writer.byte(RAW_TAG);
  writeText(writer, 1, type);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(writer.length);
  writer.bytes(length);
  return writer.finish();
}
