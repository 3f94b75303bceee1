// Turns a protobuf request body into the JSON form of the object, for the kinds that Go clients send that way.

import type { JsonObject } from "../json/json-value.ts";
import { builtinMessages } from "./builtin-messages.ts";
import { decodeMessage, type MessageType } from "./message-type.ts";
import { deleteOptions } from "./meta-messages.ts";
import { reviewMessages } from "./review-messages.ts";
import { readUnknownEnvelope } from "./unknown-envelope.ts";
import { ProtobufError } from "./wire-reader.ts";

const MESSAGES = new Map(Object.entries({ ...reviewMessages, ...builtinMessages }));

/** Whether bodies of this kind can be decoded; others are to be refused with 415. */
export function isProtobufKind(apiVersion: string, kind: string): boolean {
  return messageTypeOf(apiVersion, kind) !== undefined;
}

/**
 * The object in a body of `application/vnd.kubernetes.protobuf`. What the sender left empty is absent, but for `{}` of
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
  return MESSAGES.get(name);
}
