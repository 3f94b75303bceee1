// Writes paths and operations as OpenAPI v2, with shared parameters in one place.
// Source: https://spec.openapis.org/oas/v2.0, k8s.io/kube-openapi/pkg/builder/parameters.go

import { createHash } from "node:crypto";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { ApiOperation, ApiPath, OperationBody } from "./api-paths.ts";
import { OBJECT_MEDIA_TYPES, patchMediaTypes, responseText } from "./media-types.ts";
import { META_PREFIX } from "./openapi-names.ts";
import { NAMESPACE_DESCRIPTION, type ParameterName, queryParameter } from "./parameters.ts";

export type V2Paths = { readonly paths: JsonObject; readonly parameters: JsonObject };

export function writeV2Paths(paths: readonly ApiPath[]): V2Paths {
  const shared = new SharedParameters();
  const written = Object.fromEntries(paths.map((path) => [path.path, writePath(path, shared)]));
  return { paths: written, parameters: shared.definitions };
}

/** Collects parameters under names that a digest of their content makes unique. */
class SharedParameters {
  readonly #definitions = new Map<string, JsonObject>();

  refer(name: string, parameter: JsonObject): JsonObject {
    const digest = createHash("sha256").update(stringifyJson(parameter)).digest("base64url").slice(0, 8);
    const key = `${name}-${digest}`;
    this.#definitions.set(key, parameter);
    return { $ref: `#/parameters/${key}` };
  }

  get definitions(): JsonObject {
    return Object.fromEntries([...this.#definitions].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

function writePath({ named, namespaced, parameters, operations }: ApiPath, shared: SharedParameters): JsonObject {
  const all = [
    ...(named === undefined ? [] : [pathParameter("name", `name of the ${named}`)]),
    ...(namespaced ? [shared.refer("namespace", pathParameter("namespace", NAMESPACE_DESCRIPTION))] : []),
    ...parameters.map((name) => sharedQueryParameter(name, shared)),
  ];
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, writeOperation(operation, shared)])),
    ...(all.length === 0 ? {} : { parameters: all }),
  };
}

function writeOperation(operation: ApiOperation, shared: SharedParameters): JsonObject {
  const { tag, description, id, body, responses, action, kind } = operation;
  const parameters = [
    ...(body === undefined ? [] : [bodyParameter(body, shared)]),
    ...operation.parameters.map((name) =>
      // kubectl before 1.27 looks for this one in the operation itself, and refuses dry runs and diffs where it is only referred to.
      action === "patch" && name === "dryRun" ? queryParameterV2(name) : sharedQueryParameter(name, shared),
    ),
  ];
  return {
    description,
    consumes: body?.type === "patch" ? patchMediaTypes(body.strategic) : OBJECT_MEDIA_TYPES,
    produces: OBJECT_MEDIA_TYPES,
    schemes: ["https"],
    tags: [tag],
    operationId: id,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: Object.fromEntries(
      [...responses].map(([code, name]) => [
        code,
        { description: responseText(code), ...(name === undefined ? {} : { schema: reference(name) }) },
      ]),
    ),
    ...(action === undefined ? {} : { "x-kubernetes-action": action }),
    ...(kind === undefined ? {} : { "x-kubernetes-group-version-kind": kind }),
  };
}

const reference = (name: string): JsonObject => ({ $ref: `#/definitions/${name}` });

const sharedQueryParameter = (name: ParameterName, shared: SharedParameters): JsonObject =>
  shared.refer(name, queryParameterV2(name));

const queryParameterV2 = (name: ParameterName): JsonObject => {
  const { type, description } = queryParameter(name);
  return { uniqueItems: true, type, description, name, in: "query" };
};

const pathParameter = (name: string, description: string): JsonObject => ({
  uniqueItems: true,
  type: "string",
  description,
  name,
  in: "path",
  required: true,
});

/** The bodies of deletions and patches are the same for all kinds, and shared. */
function bodyParameter(body: OperationBody, shared: SharedParameters): JsonObject {
  const parameter = { name: "body", in: "body" };
  if (body.type === "patch") {
    return shared.refer("body", { ...parameter, required: true, schema: reference(`${META_PREFIX}Patch`) });
  }
  const schema = reference(body.definition);
  return body.required ? { ...parameter, required: true, schema } : shared.refer("body", { ...parameter, schema });
}
