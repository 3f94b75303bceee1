// Encodes OpenAPI documents in protobuf, for older kubectl and other Go clients.
// Source: github.com/google/gnostic/openapiv2/OpenAPIv2.proto, openapiv3/OpenAPIv3.proto

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { runSteps, StepPace, type Steps } from "@postern/apimachinery/steps/steps";
import { GNOSTIC_MESSAGES, type MessageField, type Messages } from "./gnostic-messages.ts";
import { GNOSTIC_V3_MESSAGES } from "./gnostic-v3-messages.ts";
import { LENGTH_DELIMITED, ProtobufWriter, tag, varint } from "./protobuf-writer.ts";

/** The bytes of `openapi.v2.Document`. */
export const encodeGnosticDocument = (document: JsonObject): Uint8Array =>
  runSteps(encodeMessage(GNOSTIC_MESSAGES, "Document", document, messagePace()));

/** Members of a document that are joined from parts. */
type JoinedMember = "paths" | "definitions" | "parameters";

/** A part of a member, without its field. Parts of the same member may follow each other. */
export function encodeGnosticMember(member: JoinedMember, value: JsonObject): Steps<Uint8Array> {
  const { type, shape = (unchanged: JsonValue) => unchanged } = documentField(member);
  return encodeMessage(GNOSTIC_MESSAGES, type, shape(value), messagePace());
}

/** The field of a member, from its parts. */
export const gnosticMember = (member: JoinedMember, parts: readonly Uint8Array[]): readonly Uint8Array[] =>
  joinedField(documentField(member).number, parts);

/** The parts of `openapi.v3.Document`. Each schema comes as its text, and is read when its turn comes. */
export function* encodeV3Document(
  head: JsonObject,
  schemas: readonly (readonly [name: string, text: string])[],
): Steps<readonly Uint8Array[]> {
  const pace = messagePace();
  const document = yield* encodeMessage(GNOSTIC_V3_MESSAGES, "Document", head, pace);
  const parts: Uint8Array[] = [];
  for (const [name, text] of schemas) {
    yield;
    const named = { additional_properties: [{ name, value: parseJson(text) }] };
    parts.push(yield* encodeMessage(GNOSTIC_V3_MESSAGES, "SchemasOrReferences", named, pace));
  }
  return [document, ...joinedField(V3_COMPONENTS, joinedField(V3_SCHEMAS, parts))];
}

/** `components` of a document, and `schemas` of components. */
const [V3_COMPONENTS, V3_SCHEMAS] = [5, 1];

function joinedField(number: number, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  return [tag(number, LENGTH_DELIMITED), varint(size), ...parts];
}

function documentField(member: JoinedMember): MessageField {
  const field = GNOSTIC_MESSAGES["Document"]?.fields[member];
  if (field === undefined) throw new Error(`a document has no ${member}`);
  return field;
}

/** A single schema may have tens of thousands. */
const MESSAGES_PER_STEP = 1_000;

const messagePace = (): StepPace => new StepPace(MESSAGES_PER_STEP);

function* encodeMessage(table: Messages, name: string, value: JsonValue, pace: StepPace): Steps<Uint8Array> {
  const writer = new ProtobufWriter();
  const message = table[name];
  if (message === undefined || !isJsonObject(value)) throw new Error(`not a ${name}`);
  if (pace.isOver()) yield;
  for (const [member, content] of Object.entries(value)) {
    if (content === undefined) continue;
    const field = Object.hasOwn(message.fields, member) ? message.fields[member] : undefined;
    if (field !== undefined) {
      const values: readonly JsonValue[] = field.repeated === true && Array.isArray(content) ? content : [content];
      for (const each of values) {
        const shaped = field.shape === undefined ? each : field.shape(each);
        if (!writeScalar(writer, field, shaped)) {
          writer.bytes(field.number, yield* encodeMessage(table, field.type, shaped, pace));
        }
      }
    } else if (message.extensions !== undefined && member.startsWith("x-")) {
      const extension = { name: member, value: content };
      writer.bytes(message.extensions, yield* encodeMessage(table, "NamedAny", extension, pace));
    }
  }
  return writer.finish();
}

/** False: the field holds a message. */
function writeScalar(writer: ProtobufWriter, { number, type }: MessageField, value: JsonValue): boolean {
  if (type === "string") writer.string(number, String(value));
  else if (type === "bool") writer.integer(number, value === true ? 1 : 0);
  else if (type === "int64") writer.integer(number, Number(value));
  else if (type === "double") writer.double(number, Number(value));
  else return false;
  return true;
}
