// Reads a protobuf OpenAPI v3 document back into its JSON, with a table of its own: what Go clients would see.

import { any, decode, double, type Fields, flag, integer, map, oneOf, text } from "./decode-gnostic.ts";

const reference = (content: Buffer | bigint) => decode(content, { 1: ["$ref", text], 3: ["description", text] });
const schemaOrReference = (content: Buffer | bigint): any => oneOf({ 1: schema, 2: reference })(content);
const defaultOf = (content: Buffer | bigint): any =>
  (content as Buffer).length === 0 ? {} : oneOf({ 1: double, 2: flag, 3: text })(content);
const items = (content: Buffer | bigint): any => decode(content, { 1: ["items", schemaOrReference] }).items;

const schema = (content: Buffer | bigint): any => {
  const fields: Fields = {
    1: ["nullable", flag],
    6: ["externalDocs", (docs) => decode(docs, { 1: ["description", text], 2: ["url", text] })],
    7: ["example", any],
    9: ["title", text],
    10: ["multipleOf", double],
    11: ["maximum", double],
    12: ["exclusiveMaximum", flag],
    13: ["minimum", double],
    14: ["exclusiveMinimum", flag],
    15: ["maxLength", integer],
    16: ["minLength", integer],
    17: ["pattern", text],
    18: ["maxItems", integer],
    19: ["minItems", integer],
    20: ["uniqueItems", flag],
    21: ["maxProperties", integer],
    22: ["minProperties", integer],
    23: ["required", text, "list"],
    24: ["enum", any, "list"],
    25: ["type", text],
    26: ["allOf", schemaOrReference, "list"],
    27: ["oneOf", schemaOrReference, "list"],
    28: ["anyOf", schemaOrReference, "list"],
    29: ["not", schema],
    30: ["items", items],
    31: ["properties", map(1, schemaOrReference)],
    32: ["additionalProperties", oneOf({ 1: schemaOrReference, 2: flag })],
    33: ["default", defaultOf],
    34: ["description", text],
    35: ["format", text],
  };
  return decode(content, fields, 36);
};

const mediaType = (content: Buffer | bigint) => decode(content, { 1: ["schema", schemaOrReference] }, 5);
const content = map(1, mediaType);
const parameter = (bytes: Buffer | bigint) =>
  decode(
    bytes,
    {
      1: ["name", text],
      2: ["in", text],
      3: ["description", text],
      4: ["required", flag],
      10: ["schema", schemaOrReference],
    },
    14,
  );
const parameterOrReference = oneOf({ 1: parameter, 2: reference });
const body = (bytes: Buffer | bigint) =>
  decode(bytes, { 1: ["description", text], 2: ["content", content], 3: ["required", flag] }, 4);
const response = (bytes: Buffer | bigint) => decode(bytes, { 1: ["description", text], 3: ["content", content] }, 5);
const responseOrReference = oneOf({ 1: response, 2: reference });

const operation = (bytes: Buffer | bigint) =>
  decode(
    bytes,
    {
      1: ["tags", text, "list"],
      3: ["description", text],
      5: ["operationId", text],
      6: ["parameters", parameterOrReference, "list"],
      7: ["requestBody", oneOf({ 1: body, 2: reference })],
      8: ["responses", map(2, responseOrReference)],
    },
    13,
  );

const pathItem = (bytes: Buffer | bigint) =>
  decode(
    bytes,
    {
      4: ["get", operation],
      5: ["put", operation],
      6: ["post", operation],
      7: ["delete", operation],
      8: ["options", operation],
      9: ["head", operation],
      10: ["patch", operation],
      13: ["parameters", parameterOrReference, "list"],
    },
    14,
  );

/** Throws on a field that this table does not know. */
export const decodeGnosticV3Document = (bytes: Buffer): any =>
  decode(
    bytes,
    {
      1: ["openapi", text],
      2: ["info", (info) => decode(info, { 1: ["title", text], 6: ["version", text] })],
      4: ["paths", map(1, pathItem)],
      5: ["components", (components) => decode(components, { 1: ["schemas", map(1, schemaOrReference)] })],
    },
    9,
  );
