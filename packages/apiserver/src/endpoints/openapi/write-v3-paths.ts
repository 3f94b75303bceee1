// Writes paths and operations as OpenAPI v3.
// Source: https://spec.openapis.org/oas/v3.0.0

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiOperation, ApiPath, OperationBody } from "./api-paths.ts";
import { OBJECT_MEDIA_TYPES, patchMediaTypes, responseText } from "./media-types.ts";
import { META_PREFIX } from "./openapi-names.ts";
import { NAMESPACE_DESCRIPTION, type Parameter, type ParameterReference, queryParameter } from "./parameters.ts";

export const writeV3Paths = (paths: readonly ApiPath[]): JsonObject =>
  Object.fromEntries(paths.map((path) => [path.path, writePath(path)]));

function writePath({ named, namespaced, parameters, operations }: ApiPath): JsonObject {
  const shared = [
    ...(named === undefined ? [] : [pathParameter("name", `name of the ${named}`)]),
    ...(namespaced ? [pathParameter("namespace", NAMESPACE_DESCRIPTION)] : []),
    ...parameters.map(writeQueryParameter),
  ];
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, writeOperation(operation)])),
    ...(shared.length === 0 ? {} : { parameters: shared }),
  };
}

const writeOperation = ({ tag, description, id, parameters, body, responses, action, kind, text }: ApiOperation) => ({
  tags: [tag],
  description,
  operationId: id,
  ...(parameters.length === 0 ? {} : { parameters: parameters.map(writeQueryParameter) }),
  ...(body === undefined ? {} : { requestBody: writeBody(body) }),
  responses: Object.fromEntries([...responses].map(([code, name]) => [code, writeResponse(code, name, text)])),
  ...(action === undefined ? {} : { "x-kubernetes-action": action }),
  ...(kind === undefined ? {} : { "x-kubernetes-group-version-kind": kind }),
});

function writeQueryParameter(parameter: ParameterReference): JsonObject {
  const { name, ...rest } = queryParameter(parameter);
  return writeParameter(name, "query", rest);
}

const pathParameter = (name: string, description: string): JsonObject => ({
  ...writeParameter(name, "path", { type: "string", description }),
  required: true,
});

const writeParameter = (name: string, place: string, { type, description }: Parameter): JsonObject => ({
  name,
  in: place,
  description,
  schema: { type, uniqueItems: true },
});

const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

const contentOf = (mediaTypes: readonly string[], name: string): JsonObject =>
  Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema: reference(name) }]));

function writeBody(body: OperationBody): JsonObject {
  if (body.type === "patch") {
    return { content: contentOf(patchMediaTypes(body.strategic), `${META_PREFIX}Patch`), required: true };
  }
  const content = contentOf(OBJECT_MEDIA_TYPES, body.definition);
  return body.required ? { content, required: true } : { content };
}

function writeResponse(code: number, name: string | undefined, text: ApiOperation["text"]): JsonObject {
  const description = responseText(code);
  if (name !== undefined) return { description, content: contentOf(OBJECT_MEDIA_TYPES, name) };
  if (code !== 200 || text === undefined) return { description };
  const schema = { type: "string" };
  return { description, content: Object.fromEntries(text.map((mediaType) => [mediaType, { schema }])) };
}
