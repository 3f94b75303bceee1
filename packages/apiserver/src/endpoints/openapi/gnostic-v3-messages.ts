// The messages of OpenAPI v3 documents in protobuf: field numbers, and how their JSON differs from the messages.
// Source: github.com/google/gnostic/openapiv3/OpenAPIv3.proto

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import {
  ANY,
  anyOf,
  bool,
  double,
  int64,
  isReference,
  listOf,
  type Messages,
  message,
  messages,
  NAMED_ANY,
  named,
  namedAs,
  string,
  strings,
} from "./gnostic-messages.ts";

/** A member that may refer to a component instead. */
const orReference =
  (member: string) =>
  (value: JsonValue): JsonObject => ({ [isReference(value) ? "reference" : member]: value });

const schemaOrReference = orReference("schema");

const additionalProperties = (value: JsonValue): JsonObject =>
  typeof value === "boolean" ? { boolean: value } : { schema_or_reference: value };

/** Only scalars have a field; lists and objects are an empty message. */
const defaultType = (value: JsonValue): JsonObject =>
  value === null || typeof value === "object" ? {} : { [typeof value]: value };

const responses = (value: JsonValue): JsonObject => {
  const { default: otherwise, ...byCode } = isJsonObject(value) ? value : {};
  return { ...(otherwise === undefined ? {} : { default: otherwise }), ...namedAs("response_or_reference")(byCode) };
};

/** Those members that documents of ours can have. Members that are not listed are left out. */
export const GNOSTIC_V3_MESSAGES: Messages = {
  Document: {
    fields: { openapi: string(1), info: message(2, "Info"), paths: message(4, "Paths", namedAs("path")) },
    extensions: 9,
  },
  Info: { fields: { title: string(1), description: string(2), version: string(6) }, extensions: 7 },
  Paths: { fields: { path: messages(1, "NamedPathItem") } },
  NamedPathItem: { fields: { name: string(1), value: message(2, "PathItem") } },
  PathItem: {
    fields: {
      get: message(4, "Operation"),
      put: message(5, "Operation"),
      post: message(6, "Operation"),
      delete: message(7, "Operation"),
      options: message(8, "Operation"),
      head: message(9, "Operation"),
      patch: message(10, "Operation"),
      parameters: messages(13, "ParameterOrReference", orReference("parameter")),
    },
    extensions: 14,
  },
  Operation: {
    fields: {
      tags: strings(1),
      description: string(3),
      operationId: string(5),
      parameters: messages(6, "ParameterOrReference", orReference("parameter")),
      requestBody: message(7, "RequestBodyOrReference", orReference("request_body")),
      responses: message(8, "Responses", responses),
    },
    extensions: 13,
  },
  ParameterOrReference: { fields: { parameter: message(1, "Parameter"), reference: message(2, "Reference") } },
  Parameter: {
    fields: {
      name: string(1),
      in: string(2),
      description: string(3),
      required: bool(4),
      schema: message(10, "SchemaOrReference", schemaOrReference),
    },
    extensions: 14,
  },
  RequestBodyOrReference: { fields: { request_body: message(1, "RequestBody"), reference: message(2, "Reference") } },
  RequestBody: {
    fields: { description: string(1), content: message(2, "MediaTypes", named), required: bool(3) },
    extensions: 4,
  },
  Responses: {
    fields: {
      default: message(1, "ResponseOrReference", orReference("response")),
      response_or_reference: messages(2, "NamedResponseOrReference"),
    },
  },
  NamedResponseOrReference: {
    fields: { name: string(1), value: message(2, "ResponseOrReference", orReference("response")) },
  },
  ResponseOrReference: { fields: { response: message(1, "Response"), reference: message(2, "Reference") } },
  Response: { fields: { description: string(1), content: message(3, "MediaTypes", named) }, extensions: 5 },
  MediaTypes: { fields: { additional_properties: messages(1, "NamedMediaType") } },
  NamedMediaType: { fields: { name: string(1), value: message(2, "MediaType") } },
  MediaType: { fields: { schema: message(1, "SchemaOrReference", schemaOrReference) }, extensions: 5 },
  SchemasOrReferences: { fields: { additional_properties: messages(1, "NamedSchemaOrReference") } },
  NamedSchemaOrReference: {
    fields: { name: string(1), value: message(2, "SchemaOrReference", schemaOrReference) },
  },
  SchemaOrReference: { fields: { schema: message(1, "Schema"), reference: message(2, "Reference") } },
  Reference: { fields: { $ref: string(1), description: string(3) } },
  Schema: {
    fields: {
      nullable: bool(1),
      externalDocs: message(6, "ExternalDocs"),
      example: message(7, "Any", anyOf),
      title: string(9),
      multipleOf: double(10),
      maximum: double(11),
      exclusiveMaximum: bool(12),
      minimum: double(13),
      exclusiveMinimum: bool(14),
      maxLength: int64(15),
      minLength: int64(16),
      pattern: string(17),
      maxItems: int64(18),
      minItems: int64(19),
      uniqueItems: bool(20),
      maxProperties: int64(21),
      minProperties: int64(22),
      required: strings(23),
      enum: messages(24, "Any", anyOf),
      type: string(25),
      allOf: messages(26, "SchemaOrReference", schemaOrReference),
      oneOf: messages(27, "SchemaOrReference", schemaOrReference),
      anyOf: messages(28, "SchemaOrReference", schemaOrReference),
      not: message(29, "Schema"),
      items: message(30, "ItemsItem", listOf("schema_or_reference")),
      properties: message(31, "Properties", named),
      additionalProperties: message(32, "AdditionalPropertiesItem", additionalProperties),
      default: message(33, "DefaultType", defaultType),
      description: string(34),
      format: string(35),
    },
    extensions: 36,
  },
  ExternalDocs: { fields: { description: string(1), url: string(2) }, extensions: 3 },
  ItemsItem: { fields: { schema_or_reference: messages(1, "SchemaOrReference", schemaOrReference) } },
  Properties: { fields: { additional_properties: messages(1, "NamedSchemaOrReference") } },
  AdditionalPropertiesItem: {
    fields: { schema_or_reference: message(1, "SchemaOrReference", schemaOrReference), boolean: bool(2) },
  },
  DefaultType: { fields: { number: double(1), boolean: bool(2), string: string(3) } },
  Any: ANY,
  NamedAny: NAMED_ANY,
};
