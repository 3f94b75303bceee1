// POST on a collection: creates an object, or answers one that is not stored (reviews).
// Source: k8s.io/apiserver/pkg/endpoints/handlers/create.go

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { invalidObjectError, verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { decodeProtobufObject } from "@postern/apimachinery/protobuf/decode-protobuf-object";
import { ProtobufError } from "@postern/apimachinery/protobuf/wire-reader";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { validateCreateOptions } from "@postern/apimachinery/validation/request-options";
import type { RequestContext } from "../../chain/handler.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { createOptionsOf } from "../../request/query-options.ts";
import type { ApiResponse } from "../../transport/api-response.ts";
import { conform, decodeObject, unrecognizedError } from "../decode/decode-object.ts";
import { fieldValidationOf } from "../decode/field-validation.ts";
import { inNamespaceOfPath, readBody, readObject } from "../decode/read-object.ts";
import type { EndpointContext, VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { objectResponse } from "../negotiation/object-response.ts";
import { addDeprecationWarnings } from "./deprecation-warnings.ts";
import { fieldManagerOf } from "./field-manager-name.ts";

const CREATE_OPTIONS = { group: "meta.k8s.io", kind: "CreateOptions" };

export const handleCreate: VerbHandler = async (context, resource, endpoint) => {
  const { definition, storage, fieldManager } = resource;
  if (definition.submit !== undefined) return await handleSubmit(context, definition, definition.submit, endpoint);
  if (storage.create === undefined) throw verbNotSupportedError(groupResource(definition), "create");

  const output = negotiateOutput(context.request);
  const options = createOptionsOf(context.request.query);
  const errors = validateCreateOptions(options);
  if (errors.length > 0) throw invalidObjectError(CREATE_OPTIONS, "", errors);

  const object = await readObject(context, definition, endpoint, options.fieldValidation);
  addDeprecationWarnings(resource, object, context.warnings);
  const manager = fieldManagerOf(options.fieldManager, context.request);
  const owned = fieldManager.update({
    live: undefined,
    next: object,
    manager,
    subresource: "",
    now: formatTimestamp(endpoint.runtime.clock.now()),
  });
  const dryRun = options.dryRun !== undefined && options.dryRun.length > 0;
  const created = await storage.create(context, context.info.namespace, owned, { dryRun });
  return await objectResponse(context, 201, created, definition, output);
};

/** A request that is answered rather than stored. Clients of the reviews send protobuf. */
async function handleSubmit(
  context: RequestContext,
  definition: ResourceDefinition,
  submit: NonNullable<ResourceDefinition["submit"]>,
  endpoint: EndpointContext,
): Promise<ApiResponse> {
  const output = negotiateOutput(context.request);
  const options = createOptionsOf(context.request.query);
  const errors = validateCreateOptions(options);
  if (errors.length > 0) throw invalidObjectError(CREATE_OPTIONS, "", errors);
  const body = await readBody(context, endpoint, { protobuf: true });
  const object =
    body.format === "protobuf"
      ? decodeProtobuf(body.bytes, definition)
      : decodeObject(context, body, definition, fieldValidationOf(options.fieldValidation));
  const answer = await submit(context, inNamespaceOfPath(object, definition, context));
  return await objectResponse(context, 201, answer, definition, output);
}

function decodeProtobuf(bytes: Uint8Array, definition: ResourceDefinition): KubeObject {
  const endpoint = { apiVersion: formatApiVersion(definition), kind: definition.kind };
  try {
    const { metadata = {}, ...rest } = decodeProtobufObject(bytes, endpoint);
    const object = { ...rest, ...endpoint, metadata: isJsonObject(metadata) ? metadata : {} };
    return conform(object, definition).object;
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    throw unrecognizedError(definition, bytes, error.message);
  }
}

const groupResource = ({ group, plural }: ResourceDefinition) => ({ group, resource: plural });
