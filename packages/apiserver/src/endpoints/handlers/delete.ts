// DELETE on an object.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/delete.go

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import { verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import type { Status } from "@postern/apimachinery/meta/status";
import { createMemberReader } from "../../cache/read-members.ts";
import { groupResourceOf, type ResourceDefinition } from "../../registry/resource-definition.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { objectResponse, statusResponse } from "../negotiation/object-response.ts";
import { readDeleteOptions } from "./delete-options.ts";

export const handleDelete: VerbHandler = async (context, { definition, servedStore }, endpoint) => {
  if (servedStore.delete === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "delete");
  }
  const output = negotiateOutput(context.request, definition);
  const { options, holdsAreAccepted } = await readDeleteOptions(context, definition, endpoint);
  const { removed, object } = await servedStore.delete(context, context.info.namespace, context.info.name, options);
  if (removed && definition.returnsDeletedObject !== true) {
    const status = deletedStatus(definition, object.read(readNames));
    context.audit.setResponseStatus?.(status);
    return await statusResponse(context, 200, status, output);
  }
  return await objectResponse(context, holdsAreAccepted && !removed ? 202 : 200, object, definition, output);
};

const readNames = createMemberReader({ metadata: { name: true, uid: true } });

/** `details.uid` lets `kubectl delete --wait` distinguish a deleted object from a new one with its name. */
function deletedStatus({ group, plural }: ResourceDefinition, { metadata }: JsonObject): Status {
  const { name, uid } = isJsonObject(metadata) ? metadata : {};
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name: textOf(name), ...(group === "" ? {} : { group }), kind: plural, uid: textOf(uid) },
  };
}
