// Encodes an OpenAPI v2 document as the protobuf message that older kubectl and other Go clients read.
// Source: github.com/google/gnostic/openapiv2/OpenAPIv2.proto

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { GNOSTIC_MESSAGES, type Message, type MessageField } from "./gnostic-messages.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";

/** The bytes of `openapi.v2.Document`. */
export const encodeGnosticDocument = (document: JsonObject): Uint8Array => encodeMessage("Document", document);

const EXTENSION: MessageField = { number: 0, type: "NamedAny", repeated: true };

function encodeMessage(name: string, value: JsonValue): Uint8Array {
  const writer = new ProtobufWriter();
  const message = GNOSTIC_MESSAGES[name];
  if (message === undefined || !isJsonObject(value)) throw new Error(`not a ${name}`);
  for (const [member, content] of Object.entries(value)) {
    if (content !== undefined) writeMember(writer, message, member, content);
  }
  return writer.finish();
}

function writeMember(writer: ProtobufWriter, message: Message, member: string, content: JsonValue): void {
  const field = Object.hasOwn(message.fields, member) ? message.fields[member] : undefined;
  if (field !== undefined) {
    const values: readonly JsonValue[] = field.repeated === true && Array.isArray(content) ? content : [content];
    for (const value of values) writeField(writer, field, field.shape === undefined ? value : field.shape(value));
  } else if (message.extensions !== undefined && member.startsWith("x-")) {
    writeField(writer, { ...EXTENSION, number: message.extensions }, { name: member, value: content });
  }
}

function writeField(writer: ProtobufWriter, { number, type }: MessageField, value: JsonValue): void {
  if (type === "string") writer.string(number, String(value));
  else if (type === "bool") writer.integer(number, value === true ? 1 : 0);
  else if (type === "int64") writer.integer(number, Number(value));
  else if (type === "double") writer.double(number, Number(value));
  else writer.bytes(number, encodeMessage(type, value));
}
