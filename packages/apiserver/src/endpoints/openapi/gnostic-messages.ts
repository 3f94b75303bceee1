// The messages of OpenAPI v2 documents in protobuf: field numbers, and how their JSON differs from the messages.
// Source: github.com/google/gnostic/openapiv2/OpenAPIv2.proto

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";

export type MessageField = {
  readonly number: number;
  /** `string`, `bool`, `int64`, `double`, or the name of a message. */
  readonly type: string;
  /** Lists become one field per element. */
  readonly repeated?: boolean;
  /** Turns the member's JSON (of a list: each element's) into the JSON of the message. */
  readonly shape?: (value: JsonValue) => JsonValue;
};

export type Message = {
  readonly fields: { readonly [member: string]: MessageField };
  /** The number of the field that holds members beginning with `x-`. */
  readonly extensions?: number;
};

/** Messages by their names. */
export type Messages = { readonly [name: string]: Message };

export const string = (number: number): MessageField => ({ number, type: "string" });
export const strings = (number: number): MessageField => ({ number, type: "string", repeated: true });
export const bool = (number: number): MessageField => ({ number, type: "bool" });
export const int64 = (number: number): MessageField => ({ number, type: "int64" });
export const double = (number: number): MessageField => ({ number, type: "double" });
export const message = (number: number, type: string, shape?: MessageField["shape"]): MessageField =>
  shape === undefined ? { number, type } : { number, type, shape };
export const messages = (number: number, type: string, shape?: MessageField["shape"]): MessageField => ({
  ...message(number, type, shape),
  repeated: true,
});

/** A map becomes a list of messages with a name and a value. */
export const namedAs =
  (member: string) =>
  (value: JsonValue): JsonObject => ({
    [member]: Object.entries(isJsonObject(value) ? value : {}).map(([name, entry]) => ({ name, value: entry })),
  });
export const named = namedAs("additional_properties");

/** Free values travel as YAML, of which JSON is a part. */
export const anyOf = (value: JsonValue): JsonObject => ({ yaml: stringifyJson(value) });

export const isReference = (value: JsonValue): boolean => isJsonObject(value) && value["$ref"] !== undefined;

const parameterOf = (value: JsonValue): JsonObject => {
  const place = isJsonObject(value) ? value["in"] : undefined;
  return place === "body" ? { body_parameter: value } : { non_body_parameter: { [`${place}`]: value } };
};

const parameterItem = (value: JsonValue): JsonObject =>
  isReference(value) ? { json_reference: value } : { parameter: parameterOf(value) };

const responseItem = (value: JsonValue): JsonObject => ({
  [isReference(value) ? "json_reference" : "response"]: value,
});

const additionalProperties = (value: JsonValue): JsonObject =>
  typeof value === "boolean" ? { boolean: value } : { schema: value };

export const listOf =
  (member: string) =>
  (value: JsonValue): JsonObject => ({ [member]: Array.isArray(value) ? value : [value] });

/** The same in both versions. */
export const ANY: Message = { fields: { yaml: string(2) } };
export const NAMED_ANY: Message = { fields: { name: string(1), value: message(2, "Any", anyOf) } };

const parameterFields = { required: bool(1), in: string(2), description: string(3), name: string(4) };

/** Those members that documents of ours can have. Members that are not listed are left out. */
export const GNOSTIC_MESSAGES: Messages = {
  Document: {
    fields: {
      swagger: string(1),
      info: message(2, "Info"),
      paths: message(8, "Paths", namedAs("path")),
      definitions: message(9, "Definitions", named),
      parameters: message(10, "ParameterDefinitions", named),
      security: messages(12, "SecurityRequirement", named),
      securityDefinitions: message(13, "SecurityDefinitions", named),
    },
    extensions: 16,
  },
  Info: { fields: { title: string(1), version: string(2), description: string(3) }, extensions: 7 },
  Paths: { fields: { path: messages(2, "NamedPathItem") } },
  NamedPathItem: { fields: { name: string(1), value: message(2, "PathItem") } },
  PathItem: {
    fields: {
      get: message(2, "Operation"),
      put: message(3, "Operation"),
      post: message(4, "Operation"),
      delete: message(5, "Operation"),
      patch: message(8, "Operation"),
      parameters: messages(9, "ParametersItem", parameterItem),
    },
    extensions: 10,
  },
  Operation: {
    fields: {
      tags: strings(1),
      description: string(3),
      operationId: string(5),
      produces: strings(6),
      consumes: strings(7),
      parameters: messages(8, "ParametersItem", parameterItem),
      responses: message(9, "Responses", namedAs("response_code")),
      schemes: strings(10),
    },
    extensions: 13,
  },
  ParametersItem: { fields: { parameter: message(1, "Parameter"), json_reference: message(2, "JsonReference") } },
  JsonReference: { fields: { $ref: string(1), description: string(2) } },
  Parameter: {
    fields: { body_parameter: message(1, "BodyParameter"), non_body_parameter: message(2, "NonBodyParameter") },
  },
  NonBodyParameter: { fields: { query: message(3, "QueryParameter"), path: message(4, "PathParameter") } },
  BodyParameter: {
    fields: { description: string(1), name: string(2), in: string(3), required: bool(4), schema: message(5, "Schema") },
  },
  QueryParameter: { fields: { ...parameterFields, type: string(6), uniqueItems: bool(20) } },
  PathParameter: { fields: { ...parameterFields, type: string(5), uniqueItems: bool(19) } },
  ParameterDefinitions: { fields: { additional_properties: messages(1, "NamedParameter") } },
  NamedParameter: { fields: { name: string(1), value: message(2, "Parameter", parameterOf) } },
  Responses: { fields: { response_code: messages(1, "NamedResponseValue") } },
  NamedResponseValue: { fields: { name: string(1), value: message(2, "ResponseValue", responseItem) } },
  ResponseValue: { fields: { response: message(1, "Response"), json_reference: message(2, "JsonReference") } },
  Response: { fields: { description: string(1), schema: message(2, "SchemaItem", (schema) => ({ schema })) } },
  SchemaItem: { fields: { schema: message(1, "Schema") } },
  Definitions: { fields: { additional_properties: messages(1, "NamedSchema") } },
  NamedSchema: { fields: { name: string(1), value: message(2, "Schema") } },
  Schema: {
    fields: {
      $ref: string(1),
      format: string(2),
      title: string(3),
      description: string(4),
      default: message(5, "Any", anyOf),
      multipleOf: double(6),
      maximum: double(7),
      exclusiveMaximum: bool(8),
      minimum: double(9),
      exclusiveMinimum: bool(10),
      maxLength: int64(11),
      minLength: int64(12),
      pattern: string(13),
      maxItems: int64(14),
      minItems: int64(15),
      uniqueItems: bool(16),
      maxProperties: int64(17),
      minProperties: int64(18),
      required: strings(19),
      enum: messages(20, "Any", anyOf),
      additionalProperties: message(21, "AdditionalPropertiesItem", additionalProperties),
      type: message(22, "TypeItem", listOf("value")),
      items: message(23, "ItemsItem", listOf("schema")),
      properties: message(25, "Definitions", named),
    },
    extensions: 31,
  },
  AdditionalPropertiesItem: { fields: { schema: message(1, "Schema"), boolean: bool(2) } },
  TypeItem: { fields: { value: strings(1) } },
  ItemsItem: { fields: { schema: messages(1, "Schema") } },
  SecurityRequirement: { fields: { additional_properties: messages(1, "NamedStringArray") } },
  NamedStringArray: { fields: { name: string(1), value: message(2, "TypeItem", listOf("value")) } },
  SecurityDefinitions: { fields: { additional_properties: messages(1, "NamedSecurityDefinition") } },
  NamedSecurityDefinition: { fields: { name: string(1), value: message(2, "SecurityDefinition", (key) => ({ key })) } },
  SecurityDefinition: { fields: { key: message(2, "ApiKeySecurity") } },
  ApiKeySecurity: { fields: { type: string(1), name: string(2), in: string(3), description: string(4) } },
  Any: ANY,
  NamedAny: NAMED_ANY,
};
