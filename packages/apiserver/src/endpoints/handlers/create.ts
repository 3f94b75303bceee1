// POST on a collection: creates an object, or answers a review.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/create.go

import { stringifyJsonInSteps } from "@postern/apimachinery/json/stringify-json";
import { invalidObjectError, verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { validateAgainstSchema } from "@postern/apimachinery/schema/validation/validate-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "../../context/request-context.ts";
import { groupResourceOf, type ResourceDefinition } from "../../registry/resource-definition.ts";
import type { InstalledResource } from "../../registry/resource-registry.ts";
import { isDryRun } from "../../request/query-options.ts";
import type { ApiResponse } from "../../transport/api-response.ts";
import { decodeBody, inNamespaceOfPath, readBody, readObject } from "../decode/read-object.ts";
import type { EndpointContext, VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { objectResponse } from "../negotiation/object-response.ts";
import { keep } from "../negotiation/object-value.ts";
import { addDeprecationWarnings } from "./deprecation-warnings.ts";
import { fieldManagerOf } from "./field-manager-name.ts";
import { validCreateOptions } from "./valid-create-options.ts";

export const handleCreate: VerbHandler = async (context, resource, endpoint) => {
  const { definition, servedStore, fieldManager } = resource;
  if (definition.submit !== undefined) return await handleSubmit(context, resource, definition.submit, endpoint);
  if (servedStore.create === undefined) throw verbNotSupportedError(groupResourceOf(definition), "create");

  const output = negotiateOutput(context.request, definition);
  const options = validCreateOptions(context);

  const reading = readObject(context, definition, endpoint, options.fieldValidation);
  const object = reading instanceof Promise ? await reading : reading;
  addDeprecationWarnings(resource, object, context.warnings);
  context.audit.setRequestObject(object);
  const owning = context.inParts(
    fieldManager.updateInSteps({
      live: undefined,
      next: withoutSystemMeta(object),
      manager: fieldManagerOf(options.fieldManager, context.request),
      subresource: "",
      now: formatTimestamp(endpoint.runtime.clock.now()),
    }),
  );
  const owned = owning instanceof Promise ? await owning : owning;
  const created = await servedStore.create(context, context.info.namespace, owned, { dryRun: isDryRun(options) });
  return await objectResponse(context, 201, created, definition, output);
};

/** A new object is not being deleted, regardless of its metadata; dropped fields have no owner. */
function withoutSystemMeta(object: KubeObject): KubeObject {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  if (deletionTimestamp === undefined && deletionGracePeriodSeconds === undefined) return object;
  const { deletionTimestamp: _time, deletionGracePeriodSeconds: _grace, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Values with a Go type have been checked on decoding. Clients cannot set the status. */
function checkSubmitted({ status: _, ...submitted }: KubeObject, definition: ResourceDefinition): void {
  if (definition.strategicMergePatch === true) return;
  const errors = validateAgainstSchema(submitted, definition.schema);
  if (errors.length > 0) throw invalidObjectError(definition, submitted.metadata.name ?? "", errors);
}

/** A request that is answered rather than stored. Clients of the reviews send protobuf. */
async function handleSubmit(
  context: RequestContext,
  { definition, fieldManager }: InstalledResource,
  submit: NonNullable<ResourceDefinition["submit"]>,
  endpoint: EndpointContext,
): Promise<ApiResponse> {
  const output = negotiateOutput(context.request, definition);
  const options = validCreateOptions(context);
  const body = await readBody(context, endpoint, () => true);
  const object = await decodeBody(context, body, definition, options.fieldValidation);
  const owned = await context.inParts(
    fieldManager.updateInSteps({
      live: undefined,
      next: inNamespaceOfPath(object, definition, context),
      manager: fieldManagerOf(options.fieldManager, context.request),
      now: formatTimestamp(endpoint.runtime.clock.now()),
    }),
  );
  context.audit.setRequestObject(object);
  checkSubmitted(object, definition);
  const answer = await submit(context, owned);
  const value = context.isLong ? keep(Buffer.from(await context.inParts(stringifyJsonInSteps(answer)))) : answer;
  return await objectResponse(context, 201, value, definition, output);
}
