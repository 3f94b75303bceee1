// PATCH on an object or its status: applies a patch to the current object, and retries on conflicts.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/patch.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import {
  ApiError,
  invalidObjectError,
  unsupportedMediaTypeError,
  verbNotSupportedError,
} from "@postern/apimachinery/meta/api-error";
import { runSteps } from "@postern/apimachinery/steps/steps";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { validatePatchOptions } from "@postern/apimachinery/validation/request-options";
import type { ReadYaml } from "../../limits/work-threads.ts";
import { groupResourceOf, type ResourceDefinition } from "../../registry/resource-definition.ts";
import { isDryRun, patchOptionsOf } from "../../request/query-options.ts";
import { headerOf } from "../../transport/api-request.ts";
import { parseBodyInSteps, readYamlInThread } from "../decode/parse-body.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { objectResponse } from "../negotiation/object-response.ts";
import { applyRequest } from "./apply.ts";
import { fieldManagerOf } from "./field-manager-name.ts";
import {
  APPLY_PATCH,
  JSON_PATCH,
  MERGE_PATCH,
  type PatchInput,
  patchRequest,
  STRATEGIC_MERGE_PATCH,
} from "./patch-types.ts";

const PATCH_OPTIONS = { group: "meta.k8s.io", kind: "PatchOptions" };

/** Cost of a byte of a patch, in bytes of an object that is created: it is merged with another, and each of its fields gets an owner. */
const WEIGHT = 4;

export const handlePatch: VerbHandler = async (context, resource, endpoint) => {
  const { definition, servedStore } = resource;
  const { namespace, name, subresource } = context.info;
  if (servedStore.update === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "patch");
  }
  const patchType = negotiatePatchType(headerOf(context.request, "content-type"), definition);
  const output = negotiateOutput(context.request, definition);
  const options = patchOptionsOf(context.request.query);
  const errors = validatePatchOptions(options, patchType);
  if (errors.length > 0) throw invalidObjectError(PATCH_OPTIONS, "", errors);

  const reading = context.request.body(endpoint.limits.bodyBytes);
  const bytes = reading instanceof Promise ? await reading : reading;
  context.weigh(bytes.length * WEIGHT);
  const input: PatchInput = {
    context,
    resource,
    patchType,
    bytes,
    yaml: patchType === APPLY_PATCH ? await readYamlInThread(context, bytes) : undefined,
    fieldValidation: options.fieldValidation,
    force: options.force ?? false,
    manager: fieldManagerOf(options.fieldManager, context.request),
    now: formatTimestamp(endpoint.runtime.clock.now()),
  };
  context.audit.setRequestObject(() => auditedPatch(patchType, input.bytes, input.yaml));
  const request = patchType === APPLY_PATCH ? applyRequest(input, endpoint) : patchRequest(input);
  const outcome = await servedStore.update(
    context,
    namespace,
    name,
    { ...request, subresource },
    { dryRun: isDryRun(options) },
  );
  return objectResponse(context, outcome.created ? 201 : 200, outcome.object, definition, output);
};

/** The patch as the audit log keeps it. An unreadable one is dropped: it may contain secrets. */
export function auditedPatch(patchType: string, bytes: Uint8Array, yaml?: ReadYaml): JsonValue | undefined {
  try {
    return runSteps(parseBodyInSteps(bytes, { isYaml: patchType === APPLY_PATCH, read: yaml })).value;
  } catch {
    return undefined;
  }
}

const unroutedError = (): ApiError =>
  new ApiError({ code: 415, reason: "UnsupportedMediaType", message: "415: Unsupported Media Type", details: {} });

/** Throws 415, which lists what a custom resource takes. */
export function negotiatePatchType(
  contentType: string,
  { strategicMergePatch }: Pick<ResourceDefinition, "strategicMergePatch">,
): string {
  const accepted = [
    JSON_PATCH,
    MERGE_PATCH,
    ...(strategicMergePatch === true ? [STRATEGIC_MERGE_PATCH] : []),
    APPLY_PATCH,
  ];
  // Unlike other media types it is compared as sent, and its parameters may be malformed.
  const semicolon = contentType.indexOf(";");
  const mediaType = semicolon > 0 ? contentType.slice(0, semicolon) : contentType;
  const patchType = accepted.find((type) => type === mediaType);
  if (patchType !== undefined) return patchType;
  // Upstream refuses patches of built-in kinds before their handler is asked.
  throw strategicMergePatch === true ? unroutedError() : unsupportedMediaTypeError(accepted);
}
