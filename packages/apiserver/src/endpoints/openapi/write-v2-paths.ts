// Writes paths and operations as OpenAPI v2, with shared parameters in one place.
// Source: https://spec.openapis.org/oas/v2.0, k8s.io/kube-openapi/pkg/builder/parameters.go

import { createHash } from "node:crypto";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { ApiOperation, ApiPath, OperationBody } from "./api-paths.ts";
import { OBJECT_MEDIA_TYPES, patchMediaTypes, responseText } from "./media-types.ts";
import { META_PREFIX } from "./openapi-names.ts";
import { NAMESPACE_DESCRIPTION, type ParameterReference, queryParameter } from "./parameters.ts";

export type V2Paths = { readonly paths: JsonObject; readonly parameters: JsonObject };

export function writeV2Paths(paths: readonly ApiPath[]): V2Paths {
  const shared = new SharedParameters();
  const written = Object.fromEntries(paths.map((path) => [path.path, writePath(path, shared)]));
  return { paths: written, parameters: shared.definitions };
}

/** Collects parameters under names that a digest of their content makes unique. */
class SharedParameters {
  readonly #definitions = new Map<string, JsonObject>();
  readonly #queries = new Map<ParameterReference, JsonObject>();

  /** Most paths have the same ones: each is digested once. */
  query(parameter: ParameterReference): JsonObject {
    const known =
      this.#queries.get(parameter) ?? this.refer(queryParameter(parameter).name, queryParameterV2(parameter));
    this.#queries.set(parameter, known);
    return known;
  }

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
    ...parameters.map((parameter) => shared.query(parameter)),
  ];
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, writeOperation(operation, shared)])),
    ...(all.length === 0 ? {} : { parameters: all }),
  };
}

function writeOperation(operation: ApiOperation, shared: SharedParameters): JsonObject {
  const { tag, description, id, body, responses, action, kind, text } = operation;
  const parameters = [
    ...(body === undefined ? [] : [bodyParameter(body, shared)]),
    ...operation.parameters.map((name) =>
      // kubectl before 1.27 looks for this one in the operation itself, and refuses dry runs and diffs where it is only referred to.
      action === "patch" && name === "dryRun" ? queryParameterV2(name) : shared.query(name),
    ),
  ];
  return {
    description,
    consumes: body?.type === "patch" ? patchMediaTypes(body.strategic) : OBJECT_MEDIA_TYPES,
    produces: text ?? OBJECT_MEDIA_TYPES,
    schemes: ["https"],
    tags: [tag],
    operationId: id,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: Object.fromEntries(
      [...responses].map(([code, name]) => [
        code,
        { description: responseText(code), ...writeResponse(code, name, text) },
      ]),
    ),
    ...(action === undefined ? {} : { "x-kubernetes-action": action }),
    ...(kind === undefined ? {} : { "x-kubernetes-group-version-kind": kind }),
  };
}

function writeResponse(code: number, name: string | undefined, text: ApiOperation["text"]): JsonObject {
  if (name !== undefined) return { schema: reference(name) };
  return code === 200 && text !== undefined ? { schema: { type: "string" } } : {};
}

const reference = (name: string): JsonObject => ({ $ref: `#/definitions/${name}` });

const queryParameterV2 = (parameter: ParameterReference): JsonObject => {
  const { name, type, description } = queryParameter(parameter);
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
