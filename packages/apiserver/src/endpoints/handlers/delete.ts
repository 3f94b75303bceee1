// DELETE on an object.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/delete.go

import { verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Status } from "@postern/apimachinery/meta/status";
import { groupResourceOf, type ResourceDefinition } from "../../registry/resource-definition.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { objectResponse, statusResponse } from "../negotiation/object-response.ts";
import { readDeleteOptions } from "./delete-options.ts";

export const handleDelete: VerbHandler = async (context, { definition, storage }, endpoint) => {
  if (storage.delete === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "delete");
  }
  const output = negotiateOutput(context.request);
  const { options, holdsAreAccepted } = await readDeleteOptions(context, endpoint);
  const { removed, object } = await storage.delete(context, context.info.namespace, context.info.name, options);
  if (removed) {
    const status = deletedStatus(definition, object.decode());
    context.audit.setResponseStatus?.(status);
    return await statusResponse(context, 200, status, output);
  }
  return await objectResponse(context, holdsAreAccepted ? 202 : 200, object, definition, output);
};

/** `details.uid` lets `kubectl delete --wait` tell a removed object from one that was made anew. */
function deletedStatus({ group, plural }: ResourceDefinition, { metadata }: KubeObject): Status {
  const { name = "", uid = "" } = metadata;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, ...(group === "" ? {} : { group }), kind: plural, uid },
  };
}
